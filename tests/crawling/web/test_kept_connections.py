"""Connections are kept for the next request, and one that breaks under it costs no page."""

import contextlib
import threading
from select import POLLIN, poll

import pycurl
import pytest

from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.http import RequestOptions
from crawling.web.fetch.transfer import ConnectionGate
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import OK, get, read_request, reset, say, serve_raw, wait_until_it_is_there
from tests.servers import make_certificate, require_openssl, tls_context


def test_a_connection_is_kept_after_every_answer_that_was_read_to_its_end(make_site):
    moved = (301, {"Location": "/"}, "moved")
    site = make_site(
        {"/": "x" * 100_000, "/gone": (404, {}, "no"), "/empty": (200, {}, ""), "/moved": moved}
    )

    with PinnedSession() as session:
        for path in ["/", "/gone", "/empty", "/moved"] * 3:
            get(f"{site.url}{path}", session=session)

    assert (len(site.log), len(site.connections)) == (12, 1)


ANSWER = OK + b"Content-Length: 2\r\n\r\nhi"


@pytest.mark.parametrize("ending", [lambda connection: None, reset])
def test_a_kept_connection_that_closes_under_the_next_request_tells_so_and_nothing_is_repeated(
    ending,
):
    """The server reads the second request on the first connection and hangs up without a word."""
    with (
        serve_raw(say(ANSWER, then=say(then=ending)), say(ANSWER)) as (url, accepted),
        PinnedSession() as session,
    ):
        first, second = get(url, session=session), get(url, session=session)
        assert (first.is_stale, second.status, second.is_stale) == (
            False,
            FetchStatus.BROKEN_ANSWER,
            True,
        )
        assert len(accepted) == 1
        assert get(url, session=session).body.read() == b"hi"


def test_a_new_connection_that_closes_without_a_word_is_not_tried_again():
    with serve_raw(say(), say(ANSWER)) as (url, accepted):
        assert get(url).status == FetchStatus.BROKEN_ANSWER
        assert len(accepted) == 1


@pytest.mark.parametrize(
    "second",
    [say(OK), say(OK, pause=0.05, then=reset)],
    ids=["the answer breaks off", "the answer is reset"],
)
def test_an_answer_that_has_begun_is_the_servers_fault(second):
    with (
        serve_raw(say(ANSWER, then=second), say(ANSWER)) as (url, accepted),
        PinnedSession() as session,
    ):
        get(url, session=session)
        fetched = get(url, session=session)
        assert (fetched.status, fetched.is_stale, len(accepted)) == (
            FetchStatus.BROKEN_ANSWER,
            False,
            1,
        )


def test_an_answer_that_is_not_read_to_its_end_takes_its_connection_with_it():
    """The rest of it would be taken for the next answer."""
    half = say(OK + b"Content-Length: 8\r\n\r\nhalf", then=say(b"half" + ANSWER))

    with serve_raw(half, say(ANSWER)) as (url, accepted), PinnedSession() as session:
        assert get(url, session=session, max_bytes=3).status == FetchStatus.TOO_BIG
        assert get(url, session=session).body.read() == b"hi"
        assert len(accepted) == 2


def test_an_answer_that_is_longer_than_it_says_is_cut_and_spoils_no_other():
    with (
        serve_raw(say(ANSWER + b"gh", then=say(ANSWER)), say(ANSWER)) as (url, accepted),
        PinnedSession() as session,
    ):
        assert [get(url, session=session).body.read() for _ in range(2)] == [b"hi", b"hi"]
        assert len(accepted) == 2  # the rest may be on its way yet


@pytest.mark.parametrize("noise", [b"rest of the answer before", b"HTTP/1.7 200 OK\r\n\r\n"])
def test_what_is_no_answer_over_a_kept_connection_is_not_held_against_the_url(noise):
    with (
        serve_raw(say(ANSWER, then=say(noise)), say(ANSWER)) as (url, accepted),
        PinnedSession() as session,
    ):
        fetched = [get(url, session=session) for _ in range(3)]

    assert [each.is_stale for each in fetched] == [False, True, False]
    assert (fetched[2].body.read(), len(accepted)) == (b"hi", 2)


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"


def test_chunks_that_go_wrong_spoil_no_other_answer():
    with (
        serve_raw(say(CHUNKED + b"ZZ\r\n", then=say(b"stale" + ANSWER)), say(ANSWER)) as (
            url,
            accepted,
        ),
        PinnedSession() as session,
    ):
        assert [get(url, session=session).status for _ in range(2)] == [
            FetchStatus.MALFORMED,
            200,
        ]
        assert len(accepted) == 2


NEXT = ANSWER.replace(b"hi", b"no")


@pytest.mark.parametrize("surplus", [b"zz", NEXT, NEXT[:-1], NEXT[:20], b"HTTP/1.1 103 X\r\n\r\n"])
def test_what_stands_behind_the_last_chunk_is_no_part_of_the_next_answer(surplus):
    """A surplus that comes with the chunk libcurl throws away. It keeps the connection and does not
    tell.
    """
    first = say(CHUNKED + b"0\r\n\r\n" + surplus, then=say(ANSWER))
    with serve_raw(first, say(ANSWER)) as (url, _), PinnedSession() as session:
        assert [get(url, session=session).body.read() for _ in range(2)] == [b"hi", b"hi"]


def test_what_comes_after_the_last_chunk_takes_the_connection_with_it():
    said = threading.Event()

    def then(connection):
        assert first.wait(10)
        connection.sendall(NEXT)
        wait_until_it_is_there(connection)
        said.set()

    first = threading.Event()
    talks = say(CHUNKED + b"0\r\n\r\n", then=then), say(ANSWER)
    with serve_raw(*talks) as (url, accepted), PinnedSession() as session:
        assert get(url, session=session).body.read() == b"hi"
        first.set()
        assert said.wait(10)
        assert get(url, session=session).body.read() == b"hi"
    assert len(accepted) == 2


def test_what_comes_in_one_tls_record_with_an_answer_is_not_the_next_one(tmp_path):
    require_openssl()
    certificate = make_certificate(tmp_path, "site.test")

    def secured(*pieces):
        def talk(connection):
            with tls_context(certificate).wrap_socket(connection, server_side=True) as tls:
                say(*pieces, pause=0.05, then=read_request)(tls)

        return talk

    first, second = (
        secured(OK + b"Content-Length: 2\r\n\r\n", b"hi" + ANSWER.replace(b"hi", b"no")),
        secured(ANSWER),
    )
    with (
        serve_raw(first, second) as (url, _),
        PinnedSession(authorities=str(certificate)) as session,
    ):
        address = url.replace("http://127.0.0.1", "https://site.test")
        first, second = get(address, session=session), get(address, session=session)
        if second.is_stale:
            second = get(address, session=session)
        assert [first.body.read(), second.body.read()] == [b"hi", b"hi"]


def test_the_close_of_a_kept_connection_is_not_taken_for_an_answer():
    """Or what TLS had read before would pass for the answer of a server that then hangs up."""
    closing = threading.Event()
    with (
        serve_raw(say(ANSWER, then=lambda connection: closing.wait(10))) as (url, _),
        contextlib.closing(pycurl.Curl()) as curl,
    ):
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.WRITEFUNCTION, lambda piece: None)
        curl.perform()
        gate = ConnectionGate(may_dial=lambda address, port: True)
        gate.begin(curl)
        closing.set()
        waiting = poll()
        waiting.register(curl.getinfo(pycurl.ACTIVESOCKET), POLLIN)
        assert waiting.poll(10_000)
        assert gate.is_left_over()


def test_nothing_is_posted_twice():
    asked = []

    def hang_up(connection):
        with connection:
            asked.append(connection.recv(4096))

    def stay_open(connection):
        threading.Thread(target=hang_up, args=[connection.dup()], daemon=True).start()

    with (
        serve_raw(say(ANSWER, then=stay_open), hang_up, say(ANSWER)) as (url, _),
        PinnedSession() as session,
    ):
        assert get(url, session=session).status == 200
        assert (
            get(url, session=session, how=RequestOptions(body=b"a=1")).status
            == FetchStatus.BROKEN_ANSWER
        )
    assert len([request for request in asked if request]) == 1


def test_a_connection_is_kept_behind_the_last_chunk():
    with (
        serve_raw(say(CHUNKED + b"0\r\n\r\n", then=say(ANSWER))) as (url, accepted),
        PinnedSession() as session,
    ):
        assert [get(url, session=session).body.read() for _ in range(2)] == [b"hi", b"hi"]
        assert len(accepted) == 1


def test_a_connection_over_which_something_comes_unasked_is_not_used_again():
    told = threading.Event()

    def blurt(connection):
        connection.sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        wait_until_it_is_there(connection)
        told.set()

    with (
        serve_raw(say(ANSWER, then=blurt), say(ANSWER)) as (url, accepted),
        PinnedSession() as session,
    ):
        assert get(url, session=session).body.read() == b"hi"
        told.wait(5)
        assert get(url, session=session).status == 200
        assert len(accepted) == 2


def test_only_so_many_sites_keep_connections_and_the_least_recently_used_goes(
    make_site, monkeypatch
):
    monkeypatch.setattr("crawling.web.fetch.connections.MOST_SITES", 2)
    sites = [make_site({"/": "x"}) for _ in range(3)]

    with PinnedSession() as session:
        for number in (0, 1, 0, 2, 0, 1):
            get(f"{sites[number].url}/", session=session)

    assert [len(site.connections) for site in sites] == [1, 2, 1]
