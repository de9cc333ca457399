"""A real name server on loopback, UDP and TCP on one port; `dns_scenarios.py` says what it
answers."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype

from tests.dns_scenarios import PUBLIC, SCENARIOS, add, as_sent, forged, plain


class NameServer:
    """Answers SERVFAIL for names in `failing`, from `hosts` (the addresses of a name, or of all
    names below it: `*.a.test`), else by scenario.

    Counts every packet as (name, "A", "udp").
    """

    def __init__(self) -> None:
        self.hosts: dict[str, list[str]] = {}
        self.failing: set[str] = set()
        self.queries: Counter[tuple[str, str, str]] = Counter()
        self.address: tuple[str, int] = ("", 0)
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self.closing = threading.Event()

    def count(self, name: str, *qualities: str) -> int:
        """The number of questions for `name`, over all types and transports unless some are given:
        `count("a.test", "A", "udp")`.
        """
        with self._lock:
            return sum(
                times
                for key, times in self.queries.items()
                if key[0] == name and set(qualities) <= set(key[1:])
            )

    def handle(self, wire: bytes, transport: str) -> bytes | None:
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        key = (name, dns.rdatatype.to_text(question.rdtype), transport)
        with self._lock:
            self.queries[key] += 1
            times = self.queries[key]
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            response = self._respond(query, name, question.rdtype, transport, times)
        finally:
            with self._lock:
                self._in_flight -= 1
        if response is None:
            return None
        return as_sent(response, name)

    def _respond(
        self,
        query: dns.message.Message,
        name: str,
        rdtype: dns.rdatatype.RdataType,
        transport: str,
        times: int,
    ) -> dns.message.Message | None:
        response = dns.message.make_response(query, recursion_available=True)
        scenario, _, argument = name.partition(".")[0].partition("-")
        if name in self.failing:
            response.set_rcode(dns.rcode.SERVFAIL)
        elif scenario in ("noedns", "header") and query.edns >= 0:
            response.set_rcode(dns.rcode.FORMERR)
            response.use_edns(False)
        elif (
            (scenario == "to" and name not in self.hosts)
            or (scenario == "drop1" and times == 1)
            or (scenario in ("tcdead", "foldudp", "endless") and transport == "tcp")
            or (scenario == "tcsix" and rdtype == dns.rdatatype.AAAA)
        ):
            return None
        elif addresses := self.hosts.get(name) or self.hosts.get(f"*.{name.partition('.')[2]}"):
            add(response, name, rdtype, addresses)
        elif transport == "udp" and scenario in ("tc", "tcdead", "tcsix", "many"):
            response.flags |= dns.flags.TC
        elif scenario == "rebind":
            add(response, name, rdtype, [PUBLIC] if times == 1 else ["127.0.0.1"])
        else:
            if scenario in ("slow", "tcsix"):
                self.closing.wait(int(argument or 50) / 1000)
            SCENARIOS.get(scenario, plain)(response, name, rdtype, argument)
        return response


class _UdpHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        wire, sock = self.request
        reply = self.server.names.handle(wire, "udp")
        if reply is not None:
            for packet in chain(forged(wire), [] if b"drown" in wire.lower() else [reply]):
                if self.server.names.closing.is_set():
                    return
                sock.sendto(packet, self.client_address)


class _TcpHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        while head := self.rfile.read(2):
            reply = self.server.names.handle(self.rfile.read(struct.unpack("!H", head)[0]), "tcp")
            if reply is None:
                return
            self.wfile.write(struct.pack("!H", len(reply)) + reply)


class _Udp(socketserver.ThreadingUDPServer):
    daemon_threads = True
    max_packet_size = 65535


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@contextmanager
def serve_names(address: str = "127.0.0.1") -> Iterator[NameServer]:
    """Run a name server until the block ends; `NameServer.address` is where it listens."""
    names = NameServer()
    udp, tcp = _one_port(address)
    names.address = udp.server_address
    threads = []
    for server in (udp, tcp):
        server.names = names
        server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        threads.append(
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        )
        threads[-1].start()
    try:
        yield names
    finally:
        names.closing.set()
        for server, thread in zip((udp, tcp), threads, strict=True):
            server.shutdown()
            thread.join()
            server.server_close()


def _one_port(address: str) -> tuple[_Udp, _Tcp]:
    for _ in range(20):
        udp = _Udp((address, 0), _UdpHandler)
        try:
            return udp, _Tcp(udp.server_address, _TcpHandler)
        except OSError:  # the port is taken for TCP; the kernel chooses another next time
            udp.server_close()
    raise OSError(f"no port free for both UDP and TCP on {address}")
