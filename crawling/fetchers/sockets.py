"""The sockets of a session, so that they can be cut off."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from weakref import WeakSet


class Sockets:
    """Those with a request under way: whoever reads from one that is cut is told at once that nothing more comes."""

    def __init__(self) -> None:
        self._open: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()
        self.are_cut = False

    def add(self, sock: socket.socket) -> None:
        with self._lock:
            self._open.add(sock)
            if self.are_cut:
                _shut(sock)

    def cut(self) -> None:
        """Shut all that there are, and all that come."""
        with self._lock:
            self.are_cut = True
            for sock in self._open:
                _shut(sock)


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):  # it has been closed
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not TLS's own, which takes its state away from whoever reads
