"""A server on loopback that says and does exactly what a test wants, and a client for it."""

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
    """Let each connection in turn be handled by the next of the functions of a socket; yields the
    URL and the list of accepted ones.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepted = []

        def work():
            for talk in talks:
                try:
                    connection, _ = listener.accept()
                except OSError:  # the test is over, without a connection
                    return
                accepted.append(connection)
                with connection:
                    talk(connection)

        threading.Thread(target=work, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/", accepted
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # closing alone wakes no thread in accept()


def say(*pieces, pause=0.0, then=lambda connection: None):
    """Read a request, answer with the pieces, do the rest."""

    def talk(connection):
        read_request(connection)
        for piece in pieces:
            try:
                connection.sendall(piece)
            except OSError:  # the client has had enough: that is what some tests are about
                return
            time.sleep(pause)
        then(connection)

    return talk


def read_request(connection):
    """Returns the path asked for; None: no request."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(4096)
        if not piece:
            return None
        head += piece
    return head.split(b" ", 2)[1]


#: states of tcp(7) in which what was sent may still arrive: ESTABLISHED and CLOSE_WAIT
OPEN = (1, 8)


def wait_until_it_is_there(connection):
    """Return once the other end's kernel has all that was sent, or takes no more."""
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
        except OSError:  # hung up on, as it must be
            return


def get(url, *, session=None, max_bytes=1_000_000, **options):
    with PinnedSession() as own:
        fetched = fetch(
            session or own, url, address="127.0.0.1", headers=AGENT, max_bytes=max_bytes, **options
        )
    return fetched.in_memory(len(fetched.body))
