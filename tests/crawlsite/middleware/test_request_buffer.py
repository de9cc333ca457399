"""Clients that are slow, or send and take too much, do not keep others from their pages."""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client, RequestFactory

from crawlsite.download_limit import DownloadLimitMiddleware
from crawlsite.env import child_environment
from crawlsite.middleware.program_admission import is_short_request
from crawlsite.middleware.request_buffer import RequestBufferMiddleware
from crawlsite.middleware.whole_request import MOST_BYTES, MOST_BYTES_OF_STRANGERS
from crawlsite.settings import BASE_DIR
from tests.crawlsite.programs import PROJECT, eventually
from tests.test_line_lengths import TEMPLATES

#: a web server with one thread for pages, whose clients have so many seconds
PROGRAM = """
from crawlsite.middleware import request_buffer
request_buffer.REQUEST_SECONDS = {seconds}
def echo(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] == "/large":
        return [b"~" * 3_000_000]
    return [environ["wsgi.input"].read()]
application = request_buffer.RequestBufferMiddleware(echo)
"""
#: the same, where `/api/hold` keeps the only place of programs until something reads a FIFO
HOLDING = """
from crawlsite.middleware.program_admission import admission_of
def echo_or_hold(environ, start_response):
    if environ["PATH_INFO"] != "/api/hold":
        return echo(environ, start_response)
    assert admission_of(1).admit()
    try:
        open({fifo!r}, "w").close()
    finally:
        admission_of(1).leave()
    return echo(environ, start_response)
application = request_buffer.RequestBufferMiddleware(echo_or_hold)
"""
#: clients, more than that server has threads of either kind
MANY = 4
#: less than gunicorn's threads wait by themselves for a connection's first request
SOON_SECONDS = 4


def option(name: str) -> list[str]:
    """An option of the web server with its value, as the product has it."""
    web = next(line for line in (PROJECT / "Procfile").read_text().splitlines() if "web:" in line)
    words = web.split()
    at = words.index(name)
    return words[at : at + 2]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("front"), seconds=0.5) as port:
        yield port


@pytest.fixture(scope="module")
def patient(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("patient"), seconds=60) as port:
        yield port


@pytest.fixture
def patient_server(patient):
    """The server has left all clients of a test behind before the next one begins."""
    yield patient
    eventually(lambda: not connected_to(patient))


#: in the kernel's table: established, and closed by the client alone
SERVED = {"01", "08"}


def connected_to(port: int) -> bool:
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] in SERVED for row in rows)


@pytest.fixture
def held_server(tmp_path):
    """The server's port, and a function that lets the program have its answer."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with serving(tmp_path, seconds=60, more=HOLDING.format(fifo=str(fifo))) as port:
        yield port, fifo.read_text


@contextmanager
def serving(folder, *, seconds: float, more: str = ""):
    (folder / "echo.py").write_text(PROGRAM.format(seconds=seconds) + more)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = [
        "echo",
        "--no-control-socket",
        "--worker-class",
        "crawlsite.middleware.request_buffer.DeadlineWorker",
        "--threads",
        "1",
        *option("--keep-alive"),
    ]
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        *words,
        "--bind",
        f"127.0.0.1:{port}",
        "--pythonpath",
        str(folder),
    ]
    with subprocess.Popen(
        command, cwd=PROJECT, env=child_environment({}), stderr=subprocess.PIPE, text=True
    ) as process:
        next(line for line in process.stderr if "Booting worker" in line)
        yield port
        process.terminate()


@contextmanager
def sending(port: int, text: str):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(text.encode())
        yield connection


def whole_answer(connection: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(b"0\r\n\r\n"):
        piece = connection.recv(65536)
        assert piece, "the server closed the connection"
        answer += piece
    return answer


def answer_to(port: int, text: str) -> bytes:
    with sending(port, text) as connection:
        return connection.recv(65536)


@pytest.mark.parametrize(
    "begun",
    [
        "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome",
    ],
    ids=["head", "body"],
)
def test_a_request_that_never_ends_is_cut_and_the_next_is_answered(server, begun):
    with sending(server, begun) as slow:
        assert b"200 OK" in answer_to(
            server, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        assert b"200 OK" not in slow.recv(65536)


@pytest.mark.parametrize(
    ("slow", "prompt"), [("/", "/api/v1/crawls"), ("/", "/metrics"), ("/api/v1/crawls", "/")]
)
def test_programs_and_pages_wait_for_no_thread_of_each_other(patient_server, slow, prompt):
    begun, request = (f"GET {path} HTTP/1.1\r\nHost: a\r\n" for path in (slow, prompt))
    with ExitStack() as waiting:
        for _ in range(MANY):
            waiting.enter_context(sending(patient_server, begun))
        with sending(patient_server, "") as connection:
            for _ in range(2):  # the second on a connection that was kept
                connection.sendall(f"{request}\r\n".encode())
                assert whole_answer(connection).startswith(b"HTTP/1.1 200 OK")


BEGUN = {
    "head": "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ",
    "body": "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome",
    "chunks": "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nsome",
    "reader": "GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
    "closer": "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    "odd": "GET / HTTP/1.1\nHost: a\r\n",
}


@pytest.mark.parametrize("kind", BEGUN)
def test_slow_clients_hold_no_thread(patient_server, kind):
    """Sixteen for each thread; those that read nothing, or close nothing, are slow, too."""
    page = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with ExitStack() as slow:
        for _ in range(16):
            connection = slow.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", patient_server))
            connection.sendall(BEGUN[kind].encode())
        for _ in range(3):
            began = time.monotonic()
            assert b"200 OK" in answer_to(patient_server, page)
            assert time.monotonic() - began < SOON_SECONDS


def test_a_client_that_reads_slowly_gets_all_of_its_answer(patient_server):
    with socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", patient_server))
        slow.sendall(BEGUN["reader"].encode() + b"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        answer_to(patient_server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = whole_answer(slow)
        while answer.count(b"200 OK") < 2:  # the second is begun behind the first
            answer += slow.recv(65536)

    assert answer.count(b"~") == 3_000_000


def test_a_client_that_is_too_slow_is_told_so(server):
    with sending(server, BEGUN["body"]) as slow:
        assert slow.recv(65536).startswith(b"HTTP/1.1 408 Request Timeout")
        assert slow.recv(65536) == b""


def test_who_connects_and_says_nothing_takes_no_thread(patient_server):
    with ExitStack() as silent:
        for _ in range(MANY):
            silent.enter_context(sending(patient_server, ""))
        began = time.monotonic()
        assert b"200 OK" in answer_to(patient_server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert time.monotonic() - began < SOON_SECONDS


REFUSED = b"HTTP/1.1 503 Service Unavailable"
HOLD, ASK = (f"GET /api/{path} HTTP/1.1\r\nHost: a\r\n\r\n" for path in ("hold", "v1/pools"))


def test_a_program_that_finds_no_place_is_refused_though_no_thread_is_free(held_server):
    port, let_end = held_server
    with ExitStack() as waiting:
        held = waiting.enter_context(sending(port, HOLD))
        refused = waiting.enter_context(sending(port, ""))
        wait_until_refused(refused)
        for _ in range(MANY):
            waiting.enter_context(sending(port, "GET /api/v1/pools HTTP/1.1\r\nX-Slow: "))

        for connection in (refused, waiting.enter_context(sending(port, ""))):
            for _ in range(3):  # the later ones on a connection that was kept
                head, _, body = refused_or_not(connection).partition(b"\r\n\r\n")
                assert head.startswith(REFUSED)
                assert b"Retry-After: 1" in head
                assert "ask again in a moment" in json.loads(body)["detail"]
        assert b"200 OK" in answer_to(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let_end()
        assert whole_answer(held).startswith(b"HTTP/1.1 200 OK")


def test_a_refused_program_is_answered_on_the_same_connection_once_there_is_a_place(held_server):
    port, let_end = held_server
    with sending(port, HOLD) as held, sending(port, "") as refused:
        wait_until_refused(refused)
        let_end()
        whole_answer(held)
        refused.sendall(ASK.encode())
        assert whole_answer(refused).startswith(b"HTTP/1.1 200 OK")


def test_clients_that_close_or_read_nothing_end_no_web_process(held_server):
    port, let_end = held_server
    with sending(port, HOLD) as held:
        with sending(port, "") as refused:
            wait_until_refused(refused)
        with sending(port, "") as deaf:
            deaf.settimeout(0.5)
            with suppress(OSError):  # it is cut off, or the server takes no more
                for _ in range(100_000):
                    deaf.sendall(ASK.encode())
        for _ in range(20):
            with sending(port, ASK) as hasty:
                hasty.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert answer_to(port, ASK).startswith(REFUSED)
        let_end()
        assert whole_answer(held).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "request_text",
    [
        "POST /api/v1/pools HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
        "GET /api/v1/pools HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody",
        "GET /api/v1/pools HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n",
        "GET /api/v1/pools HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /api/v1/pools HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /api/v1/pools HTTP/1.0\r\nHost: a\r\n\r\n",
        "HEAD /api/v1/pools HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /api/v1/pools HTTP/1.1\r\nHost: a\r\nX-Long: ",
        f"{ASK}{ASK}",
        "GET /api/v1/pools HTTP/1.1\r\nX: b\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /api/v1/pools HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "",
    ],
)
def test_only_whole_short_requests_of_programs_are_refused_by_the_loop(request_text):
    assert is_short_request(ASK.encode())
    assert not is_short_request(request_text.encode())


def wait_until_refused(connection: socket.socket) -> None:
    """Until the other program has the place."""
    until = time.monotonic() + 20
    while not refused_or_not(connection).startswith(REFUSED):
        assert time.monotonic() < until, "not refused, though another has the place"


def refused_or_not(connection: socket.socket) -> bytes:
    connection.sendall(ASK.encode())
    answer = connection.recv(65536)
    if not answer.startswith(REFUSED):
        while not answer.endswith(b"0\r\n\r\n"):
            answer += connection.recv(65536)
    return answer


def test_requests_sent_behind_each_other_hold_up_no_others(patient_server):
    page = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    with sending(patient_server, f"{page}{page}") as both:
        began = time.monotonic()
        assert b"200 OK" in answer_to(patient_server, page)
        assert time.monotonic() - began < SOON_SECONDS
        answers = b""
        while answers.count(b"200 OK") < 2:
            answers += both.recv(65536)


def test_a_body_that_comes_in_pieces_arrives_whole(server):
    with sending(
        server, "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\nsome"
    ) as connection:
        connection.sendall(b" more")
        assert b"some more" in b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (("9\r\nsome more\r\n0\r\n\r\n",), b"200 OK"),
        (("4\r\nsome\r\n", "5;name=value\r\n more\r\n0\r\nX-Sum: a\r\n\r\n"), b"200 OK"),
        (("9\r\nsome moreX\r\n0\r\n\r\n",), b"400 Bad Request"),
        (("9\r\nsome more\r\n0\r\nHost: b\r\n\r\n",), b"400 Bad Request"),
        (("nine\r\n",), b"400 Bad Request"),
        (("FFFFFFF\r\n" + "x" * MOST_BYTES_OF_STRANGERS,), b"413 Request Entity Too Large"),
    ],
)
def test_a_body_in_chunks_arrives_or_is_refused(server, body, expected):
    head = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    with sending(server, head) as connection:
        for piece in body:
            connection.sendall(piece.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert expected in answer.partition(b"\r\n")[0]
    assert (b"some more" in answer) == (expected == b"200 OK")


@pytest.mark.parametrize("path", ["/", "/api/v1/pools"])
def test_a_client_that_waits_for_continue_is_asked_for_the_body_once(server, path):
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    with sending(server, head) as connection:
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"body")
        answer = whole_answer(connection)

    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"100 Continue" not in answer


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET / HTTP/1.1\r\n\r\n", b"400"),
        ("GET /api/v1/pools HTTP/1.1\r\nX: Host: a\r\n\r\n", b"400"),
        ("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", b"400"),
        ("GET http://a/ HTTP/1.1\r\n\r\n", b"400"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", b"400"),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"400"),
        ("GET / HTTP/1.0\r\n\r\n", b"200"),
    ],
)
def test_a_request_of_http_1_1_names_its_host(server, request_text, status):
    """RFC 9112, 3.2."""
    assert answer_to(server, request_text).split(b" ")[1] == status


@pytest.mark.parametrize(
    "odd",
    [
        "POST / HTTP/1.1\r\nHost: a\r\n"
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 40\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n\r\n",
        f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {MOST_BYTES_OF_STRANGERS + 1}\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
    ],
)
def test_nothing_behind_a_refused_request_is_taken_for_one(server, odd):
    with sending(server, f"{odd}GET /large HTTP/1.1\r\nHost: a\r\n\r\n") as connection:
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answer.split(b" ")[1] in (b"400", b"413", b"501", b"505")
    assert answer.count(b"HTTP/1.") == 1


def test_a_page_that_refreshes_each_two_seconds_keeps_its_connection(server):
    request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server), timeout=20) as connection:
        for pause in (3.5, 0):
            connection.sendall(request)
            assert whole_answer(connection).startswith(b"HTTP/1.1 200 OK")
            time.sleep(pause)


@pytest.mark.parametrize(
    ("length", "heads", "status"),
    [
        (MOST_BYTES_OF_STRANGERS, {}, "200 OK"),
        (MOST_BYTES_OF_STRANGERS + 1, {}, "413 Request Entity Too Large"),
        (MOST_BYTES_OF_STRANGERS + 1, {"HTTP_COOKIE": "csrftoken=x; sessionid=y"}, "200 OK"),
        (MOST_BYTES_OF_STRANGERS + 1, {"HTTP_AUTHORIZATION": "Bearer x"}, "200 OK"),
        (MOST_BYTES + 1, {"HTTP_AUTHORIZATION": "Bearer x"}, "413 Request Entity Too Large"),
    ],
)
def test_a_body_is_refused_by_its_length_before_it_is_read(length, heads, status):
    body, said = io.BytesIO(b"x" * length), []

    def application(environ, start_response):
        start_response("200 OK", [])
        return [environ["wsgi.input"].read()]

    RequestBufferMiddleware(application)(
        {"wsgi.input": body, "CONTENT_LENGTH": str(length), **heads},
        lambda status, heads: said.append(status),
    )

    assert said == [status]
    assert body.tell() == (length if status == "200 OK" else 0)


@pytest.mark.django_db  # the end of an answer looks whether a connection is to be closed
def test_downloads_take_a_quarter_of_the_threads_and_leave_their_places(settings):
    settings.WEB_THREADS = 8
    gate = DownloadLimitMiddleware(
        lambda request: (
            StreamingHttpResponse([b"a", b"b"]) if request.path == "/file" else HttpResponse("page")
        )
    )
    request = RequestFactory()
    first, second, third = (gate(request.get("/file")) for _ in range(3))

    assert (third.status_code, third["Retry-After"]) == (503, "10")
    assert gate(request.get("/")).content == b"page"
    assert b"".join(first) == b"ab"
    first.close()
    second.close()  # its reader left
    assert [gate(request.get("/file")).status_code for _ in range(3)] == [200, 200, 503]


@pytest.mark.django_db
def test_the_site_lets_so_many_download_at_a_time(django_user_model, settings):
    settings.WEB_THREADS = 8
    browser = Client()
    browser.force_login(django_user_model.objects.create_superuser("ada"))

    downloads = [browser.get("/dns/minutes.csv") for _ in range(3)]

    assert [download.status_code for download in downloads] == [200, 200, 503]
    for download in downloads:
        download.close()


READY = """
import crawlsite.wsgi
from django.template import engines
print(len(engines["django"].engine.template_loaders[0].get_template_cache))
"""


def test_every_template_is_compiled_before_web_processes_are_forked():
    """Else each process compiles it in a request, and others wait for the threads meanwhile."""
    ready = subprocess.run(  # our own program
        [sys.executable, "-c", READY], cwd=BASE_DIR, check=True, capture_output=True, text=True
    )

    assert int(ready.stdout) >= len(TEMPLATES)
