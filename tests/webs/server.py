"""The servers of the cases: raw sockets on loopback that log each request and connection."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from tests.nameserver import NameServer
from tests.webs.case import Case

#: a server that waited for its client for ever would outlive its test
PATIENCE_SECONDS = 180.0


@dataclass(frozen=True)
class Asked:
    """One request; `at` is monotonic seconds, names of headers are in lower case."""

    at: float
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Talk:
    """A connection, for answers that are functions. `asked` is the request that is being
    answered.
    """

    sock: socket.socket
    server: CaseServer
    asked: Asked | None = None
    surplus: bytes = b""

    @property
    def path(self) -> str:
        return self.asked.target if self.asked else ""

    @property
    def try_number(self) -> int:
        """The number of requests for this path so far, on all connections; 1 for the first."""
        return sum(asked.target == self.path for asked in list(self.server.asked))

    def send(self, *pieces: bytes, pause: float = 0.0) -> bool:
        """Send the pieces with pauses between them; returns whether the client took them all."""
        for piece in pieces:
            try:
                self.sock.sendall(piece)
            except OSError:  # the client closed the connection, which may be the expected result
                return False
            if pause and self.server.closing.wait(pause):
                return False
        return True

    def send_all(self, pieces: Iterable[bytes]) -> bool:
        """Send pieces, possibly endless, until the client closes the connection."""
        return all(self.send(piece) for piece in pieces)

    def wait_for_hang_up(self) -> None:
        """Send nothing until the client has closed the connection."""
        with suppress(OSError):
            while self.sock.recv(4096):
                pass

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def read_request(self) -> Asked | None:
        """Read and log the next request; None when the client has gone."""
        while b"\r\n\r\n" not in self.surplus:
            if not self._receive():
                return None
        head, _, self.surplus = self.surplus.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        length = int(headers.get("content-length", 0))
        while len(self.surplus) < length:
            if not self._receive():
                return None
        body, self.surplus = self.surplus[:length], self.surplus[length:]
        method, target, *_ = [*first.split(" "), ""]
        self.asked = Asked(time.monotonic(), method, target, headers, body)
        self.server.asked.append(self.asked)
        return self.asked

    def _receive(self) -> bool:
        try:
            piece = self.sock.recv(65536)
        except OSError:
            return False
        self.surplus += piece
        return bool(piece)


@dataclass
class CaseServer:
    """The server of one case. `asked` has every request, `ended` the end of each answer."""

    case: Case
    address: str
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    accepted: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def origin(self) -> str:
        host = self.case.hosts[0].replace("*.", "www.") if self.case.hosts else self.address
        return f"http://{host}:{self.port}"

    @property
    def seed(self) -> str:
        return self.origin + self.case.seed

    def paths(self) -> list[str]:
        """The requested paths, the oldest first, without robots.txt."""
        return [asked.target for asked in list(self.asked) if asked.target != "/robots.txt"]

    def seconds(self) -> float:
        """The seconds from the first request to the end of the last answer, except for
        robots.txt.
        """
        begun = [asked.at for asked in list(self.asked)]
        return max(self.ended, default=begun[-1]) - begun[0] if begun else 0.0

    def log(self) -> str:
        """Each request, with its time after the first."""
        asked = list(self.asked)
        return ", ".join(f"{one.at - asked[0].at:.1f} s {one.target}" for one in asked[:20])

    def serve(self, listener: socket.socket) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                connection, _ = listener.accept()
                self.accepted += 1
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, suppress(OSError):  # the client closed the connection
            sock = self.case.accept(connection) if self.case.accept else connection
            if sock is not None:
                with sock:
                    self._answer(Talk(sock, self))

    def _answer(self, talk: Talk) -> None:
        while talk.read_request():
            wanted = self.case.answer_to(talk.path)
            said = wanted(talk) if callable(wanted) else wanted
            is_kept = said is not None and talk.send(said)
            self.ended.append(time.monotonic())
            if not is_kept:
                return


@contextmanager
def serve_cases(cases: Iterable[Case], names: NameServer) -> Iterator[list[CaseServer]]:
    """Serve each case on an address of its own while the block runs, and make its names known."""
    with ExitStack() as stack:
        servers = []
        for number, case in enumerate(cases, 10):
            server = CaseServer(case, f"127.1.{number // 250}.{number % 250 + 1}")
            listener = stack.enter_context(socket.create_server((server.address, 0), backlog=128))
            server.port = listener.getsockname()[1]
            names.hosts.update({host: [server.address] for host in case.hosts})
            threading.Thread(target=server.serve, args=(listener,), daemon=True).start()
            # close() alone does not wake a thread in accept()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            stack.callback(server.closing.set)
            servers.append(server)
        yield servers
