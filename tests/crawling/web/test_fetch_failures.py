"""Servers that fail, each in its own way, are told by a status and a reason (SEEDS B1, B2)."""

import re
import socket
import threading
import time

import pytest

from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.http import RequestOptions
from crawling.web.proxies import Proxy, ProxyRoute
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import OK, get, read_request, reset, say, say_all, serve_raw
from tests.servers import make_certificate, require_openssl, tls_context

pytestmark = pytest.mark.slow

CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
#: wait a moment for each phase instead of five seconds
QUICK = RequestOptions(timeouts=(0.2, 0.2))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    require_openssl()
    return make_certificate(tmp_path_factory.mktemp("tls"), "secure.test")


def test_nobody_listening_is_a_failed_connection():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        fetched = get(f"http://127.0.0.1:{closed.getsockname()[1]}/")

    assert (fetched.status, fetched.http_status, fetched.body.read()) == (
        FetchStatus.CONNECT_FAILED,
        0,
        b"",
    )
    assert "refused" in fetched.error


ENDINGS = {
    "hangs up at once": say(),
    "resets at once": say(then=reset),
    "hangs up in the headers": say(OK + b"Content-Le"),
    "resets in the headers": say(OK + b"Content-Le", then=reset),
    "hangs up in the body": say(OK + b"Content-Length: 1000\r\n\r\n", b"x" * 100),
    "resets in the body": say(
        OK + b"Content-Length: 1000\r\n\r\n", b"x" * 100, pause=0.05, then=reset
    ),
    "hangs up in a chunk": say(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"100\r\nxx"),
    "sends headers without end": say(
        OK + b"".join(b"X-%d: y\r\n" % number for number in range(500))
    ),
}


UNREADABLE = {
    "a length that no number of 63 bits holds": OK
    + b"Content-Length: 99999999999999999999\r\n\r\nhello",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello",
    "the greeting of a mail server": b"220 mail.test ESMTP\r\n",
    "noise": bytes(range(256)) * 10,
    "one line of 200 KB": b"x" * 200_000,
    "an empty line before the answer": b"\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
    "no chunks": OK + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n",
    "a chunk without an end": OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n",
    "a head of 400 KB": OK + (b"X: " + b"y" * 200 + b"\r\n") * 2000 + b"\r\n",
    "several transfer codings": OK + b"Transfer-Encoding: gzip, gzip, chunked\r\n\r\n0\r\n\r\n",
    "a header line of 200 KB": OK + b"A: " + b"x" * 200_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("answer", UNREADABLE)
def test_what_breaks_the_rules_of_http_makes_no_document(answer):
    with serve_raw(say(UNREADABLE[answer])) as (url, _):
        fetched = get(url)

    assert (fetched.status, fetched.body.read()) == (FetchStatus.MALFORMED, b"")


ENDLESS = {
    "of answers before the answer": (
        b"",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
        FetchStatus.MALFORMED,
    ),
    "of trailers": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n",
        b"X: y\r\n" * 4000,
        FetchStatus.MALFORMED,
    ),
}


@pytest.mark.parametrize("stream", ENDLESS)
def test_an_endless_stream_that_never_becomes_a_body_is_broken_off(stream):
    start, more, status = ENDLESS[stream]
    with (
        serve_raw(say(start, *[more] * 2000)) as (url, _),
        PinnedSession(answer_bytes=1_000_000) as session,
    ):
        fetched = get(url, session=session)

    assert (fetched.status, fetched.body.read()) == (status, b"")
    assert re.search("does not end|Too (many|large) response headers", fetched.error)


def test_a_body_in_chunks_of_one_byte_without_end_costs_a_moment_of_the_processor():
    over = threading.Event()

    def talk(connection):
        read_request(connection)
        say_all(connection, [OK + CHUNKED, *[b"1\r\nx\r\n" * 10_000] * 2000])
        over.set()

    with serve_raw(talk) as (url, _):
        began = time.thread_time()
        fetched = get(url, max_bytes=50_000_000)
        seconds = time.thread_time() - began

    assert over.wait(10)  # the server was hung up on
    assert (fetched.status, fetched.body.read()) == (FetchStatus.BROKEN_ANSWER, b"")
    assert "does not end" in fetched.error
    assert seconds < 5  # tenths of a second; all of the 20 MB take half a minute


ENDLESS_GZIP = {
    "that holds nothing": (b"\x1f\x8b\x08" + bytes(7), b"\x00\x00\x00\xff\xff" * 4000),
    "that is all name": (b"\x1f\x8b\x08\x08" + bytes(6), b"x" * 20_000),
}


@pytest.mark.parametrize("stream", ENDLESS_GZIP)
def test_what_is_packed_without_end_is_too_big_as_it_came(stream):
    start, more = ENDLESS_GZIP[stream]
    with serve_raw(say(OK + b"Content-Encoding: gzip\r\n\r\n" + start, *[more] * 2000)) as (url, _):
        fetched = get(url)

    assert (fetched.status, fetched.body.read()) == (FetchStatus.TOO_BIG, b"")


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_answer_that_breaks_off_or_is_none_is_a_broken_answer(ending):
    with serve_raw(ENDINGS[ending]) as (url, _):
        fetched = get(url)

    assert (fetched.status, fetched.body.read()) == (FetchStatus.BROKEN_ANSWER, b"")
    assert 0 < len(fetched.error) <= 500


SILENCES = {
    "from the start": [],
    "in the headers": [OK],
    "in the body": [OK + b"Content-Length: 1000\r\n\r\nxx"],
    "in a chunk": [OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nxx"],
}


@pytest.mark.parametrize("when", SILENCES)
def test_a_server_that_falls_silent_has_timed_out(when):
    over = threading.Event()

    with (
        serve_raw(say(*SILENCES[when], then=lambda connection: over.wait(5))) as (url, _),
        PinnedSession(read_seconds=0.2) as session,
    ):
        fetched = get(url, session=session, how=QUICK)
        over.set()

    assert (fetched.status, fetched.body.read()) == (FetchStatus.TIMED_OUT, b"")


DRIPS = {
    "status line": [b"H", b"T", b"T", b"P", b"/", b"1", b".", b"1", b" "],
    "headers": [OK, *(b"X-%d: y\r\n" % number for number in range(9))],
    "body": [OK + b"Content-Length: 1000\r\n\r\n", *[b"x"] * 9],
    "chunks": [OK + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n"] * 9],
}


@pytest.mark.parametrize("where", DRIPS)
def test_a_server_that_drips_is_left_when_the_whole_answer_took_too_long(where):
    with (
        serve_raw(say(*DRIPS[where] * 5, pause=0.06)) as (url, _),
        PinnedSession(answer_seconds=0.2) as session,
    ):
        fetched = get(url, session=session, how=QUICK)

    assert fetched.status == FetchStatus.TOO_SLOW
    assert fetched.seconds < 2


def test_a_certificate_that_nobody_vouches_for_is_a_failure_of_tls(make_site, certificate):
    site = make_site({"/": "safe"}, tls=tls_context(certificate))

    assert get(f"{site.url}/").status == FetchStatus.TLS_FAILED
    assert not site.log


def test_a_server_without_tls_on_a_tls_port_is_a_failure_of_tls(make_site):
    site = make_site({"/": "plain"})

    assert get(f"https://127.0.0.1:{site.port}/").status == FetchStatus.TLS_FAILED


def hangs_up_in_the_handshake(connection):
    connection.recv(1)


def says_internal_error(connection):
    connection.recv(4096)
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x50")


@pytest.mark.parametrize(
    "talk", [lambda connection: None, hangs_up_in_the_handshake, reset, says_internal_error]
)
def test_a_handshake_that_breaks_off_is_a_fault_of_a_moment(talk):
    with serve_raw(talk) as (url, _):
        assert get(url.replace("http:", "https:")).status in (
            FetchStatus.BROKEN_ANSWER,
            FetchStatus.CONNECT_FAILED,
        )


def test_a_server_with_no_protocol_in_common_is_a_failure_of_tls():
    def says_protocol_version(connection):
        connection.recv(4096)
        connection.sendall(b"\x15\x03\x03\x00\x02\x02\x46")

    with serve_raw(says_protocol_version) as (url, _):
        assert get(url.replace("http:", "https:")).status == FetchStatus.TLS_FAILED


@pytest.mark.parametrize("kind", ["socks5", "http"])
def test_a_proxy_that_trickles_is_left_after_the_time_for_connecting(kind):
    def trickle(connection):
        connection.recv(4096)
        for _ in range(100):
            try:
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" if kind == "http" else b"\x05")
            except OSError:  # hung up on, as it must be
                return
            time.sleep(0.1)

    with serve_raw(trickle) as (url, _), PinnedSession(answer_seconds=1) as session:
        port = int(url.rstrip("/").rpartition(":")[2])
        how = RequestOptions(
            timeouts=(1.0, 1.0), route=ProxyRoute(Proxy(kind, "127.0.0.1", port), "127.0.0.1")
        )
        fetched = get("http://127.0.0.1:9/", session=session, how=how)

    assert fetched.status in (FetchStatus.TIMED_OUT, FetchStatus.PROXY_FAILED)
    assert fetched.seconds < 5
