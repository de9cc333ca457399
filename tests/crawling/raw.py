"""A server on loopback that sends and does exactly what a test wants, and a client for it."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios
import threading
import time
from contextlib import contextmanager

from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.http import fetch

AGENT = {"User-Agent": "test", "Accept-Encoding": "gzip, deflate, br, zstd"}
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def serve_raw(*talks):
    """Let each of the functions handle one connection, in turn; yields the URL and the list of
    accepted connections.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted = []

        def work():
            for talk in talks:
                try:
                    connection, _ = listener.accept()
                except OSError:  # the test has ended before a connection came
                    return
                accepted.append(connection)
                with connection:
                    talk(connection)

        threading.Thread(target=work, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/", accepted
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # close() alone does not wake a thread in accept()


def say(*pieces, pause=0.0, then=lambda connection: None):
    """Read a request, answer with the pieces, then call the rest."""

    def talk(connection):
        read_request(connection)
        for piece in pieces:
            try:
                connection.sendall(piece)
            except OSError:  # the client has closed the connection, which some tests are about
                return
            time.sleep(pause)
        then(connection)

    return talk


def read_request(connection):
    """Return the path of a request; None if there is no request."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(4096)
        if not piece:
            return None
        head += piece
    return head.split(b" ", 2)[1]


#: states of tcp(7) in which sent bytes may still arrive: ESTABLISHED and CLOSE_WAIT
OPEN = (1, 8)


def wait_until_it_is_there(connection):
    """Return once the other end's kernel has all sent bytes, or accepts no more."""
    while connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] in OPEN:
        if not any(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))):
            return
        time.sleep(0.001)


def reset(connection):
    """End with RST instead of FIN."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def say_all(connection, pieces):
    for piece in pieces:
        try:
            connection.sendall(piece)
        except OSError:  # the connection was reset, as it must be
            return


def get(url, *, session=None, max_bytes=1_000_000, **options):
    with PinnedSession() as own:
        fetched = fetch(
            session or own, url, address="127.0.0.1", headers=AGENT, max_bytes=max_bytes, **options
        )
    return fetched.with_document_in_memory(len(fetched.body))
