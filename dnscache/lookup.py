"""The only module that asks a name server.

The questions for A and AAAA are sent together, each from a new socket (a new source port) with a
random id and letters in mixed case. An answer counts only if it repeats the question exactly and
comes from the server that was asked. If UDP does not give such an answer (truncated, letters
changed, many forged answers), TCP is used.
"""

from __future__ import annotations

import struct
import threading
import time
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from socket import SOCK_DGRAM, socket
from typing import Any, cast

import dns.exception
import dns.flags
import dns.inet
import dns.message
import dns.query
import dns.rdatatype
import dns.resolver
from django.conf import settings

from dnscache.protocol import wire
from dnscache.protocol.answers import DnsStatus, Reply
from dnscache.protocol.question import DnsQuery, QueryStep, merged_reply
from dnscache.protocol.wire import ParsedResponse, parse_response

#: the address and port of a name server
Server = tuple[str, int]


class ExchangeOutcome(Enum):
    """How a server responded to the questions of a look-up (A and AAAA, or the remaining one of
    them).
    """

    #: it answered all questions
    ANSWERED = "answered"
    #: one or both questions got an error, or no server was listening
    FAILED = "failed"
    #: a question had no answer within the time of a try
    SILENT = "silent"


@dataclass(slots=True)
class ExchangeCounts:
    asked: int = 0
    answered: int = 0
    failed: int = 0
    silent: int = 0
    over_tcp: int = 0
    #: the time until the answers came; 0 if none came
    milliseconds: int = 0
    longest_ms: int = 0
    #: the number of questions that were asked without a token
    unpaid: int = 0


class ExchangeCounter:
    """Counts of exchanges with name servers. Any thread may add to them; one thread takes them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Server, ExchangeCounts] = {}

    def note(
        self, server: Server, outcome: ExchangeOutcome, milliseconds: int, *, is_paid: bool
    ) -> None:
        with self._lock:
            counts = self._counts.setdefault(server, ExchangeCounts())
            counts.asked += 1
            counts.unpaid += not is_paid
            counts.answered += outcome is ExchangeOutcome.ANSWERED
            counts.failed += outcome is ExchangeOutcome.FAILED
            counts.silent += outcome is ExchangeOutcome.SILENT
            if outcome is ExchangeOutcome.ANSWERED:
                counts.milliseconds += milliseconds
                counts.longest_ms = max(counts.longest_ms, milliseconds)

    def note_tcp(self, server: Server) -> None:
        """Count a question that was repeated over TCP."""
        with self._lock:
            self._counts.setdefault(server, ExchangeCounts()).over_tcp += 1

    def take(self) -> dict[Server, ExchangeCounts]:
        """The counts since the last call, which are then reset."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return counts


#: the seconds that each try waits for an answer; each further try goes to the next server
TRY_SECONDS = (1.0, 2.0, 5.0)
#: the largest packet of UDP
LARGEST_PACKET_BYTES = 65535
#: the number of other packets that are dropped before TCP is used
MOST_STRAYS = 50

#: the system's choice of name servers
RESOLVER_SETTINGS = Path("/etc/resolv.conf")
#: the exchanges with each server
exchanges = ExchangeCounter()
#: the servers that do not repeat a question's letters unchanged; at most as many as are configured
_folding: set[Server] = set()


def configured_servers() -> tuple[Server, ...]:
    """The servers of the setting DNS_SERVERS, or else those of the system; empty if there are
    none.
    """
    return tuple(settings.DNS_SERVERS) or _system_servers(_modification_time(RESOLVER_SETTINGS))


def _modification_time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:  # other systems have these settings elsewhere
        return 0


@lru_cache(maxsize=1)
def _system_servers(_changed_at: int) -> tuple[Server, ...]:
    """The system's servers. They are read again when the system's settings have changed."""
    try:
        resolver = dns.resolver.Resolver(str(RESOLVER_SETTINGS))
    except dns.resolver.NoResolverConfiguration:
        return ()
    return tuple((str(address), resolver.port) for address in resolver.nameservers)


def query_name(
    name: str,
    *,
    seconds: float,
    servers: tuple[Server, ...] | None = None,
    tries: tuple[float, ...] = TRY_SECONDS,
    is_paid: bool = False,
) -> Reply:
    """Ask for all addresses of a canonical name, for at most `seconds`. A failure is returned as a
    reply, too. is_paid: whether a token of the first server was taken for the first try.

    IPv4 addresses come first, since they can be reached from everywhere. A silent server gets its
    next try after the others; a server that fails gets none; `tries` says how long each one waits.
    If one family does not answer in the first try, the other one does not wait for it.
    """
    started = time.monotonic()
    waiting = list(configured_servers() if servers is None else servers)
    if not waiting:
        return Reply(DnsStatus.SERVFAIL, error="no name server is known; set DNS_SERVERS")
    questions = [DnsQuery(name, rdtype) for rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA)]
    silences = 0
    while waiting and silences < len(tries):
        now = time.monotonic()
        unsettled = [question for question in questions if question.step is not QueryStep.SETTLED]
        if now >= started + seconds or not _is_worth_another_question(questions, unsettled):
            break
        _exchange_questions(
            unsettled, waiting[0], min(now + tries[silences], started + seconds) - now
        )
        outcome = _outcome_of({question.step for question in unsettled})
        took = round(1000 * (time.monotonic() - now))
        exchanges.note(waiting[0], outcome, took, is_paid=is_paid)
        is_paid = False
        if outcome is ExchangeOutcome.FAILED:
            waiting.pop(0)
        elif outcome is ExchangeOutcome.SILENT:
            waiting.append(waiting.pop(0))
            silences += 1
    return merged_reply(questions, resolve_ms=round(1000 * (time.monotonic() - started)))


def _outcome_of(steps: set[QueryStep]) -> ExchangeOutcome:
    if QueryStep.FAILED in steps:
        return ExchangeOutcome.FAILED
    return ExchangeOutcome.SILENT if QueryStep.SILENT in steps else ExchangeOutcome.ANSWERED


def _is_worth_another_question(questions: list[DnsQuery], unsettled: list[DnsQuery]) -> bool:
    if any(question.reply.addresses for question in questions):
        return any(question.step in (QueryStep.ALIAS, QueryStep.AGAIN) for question in unsettled)
    return bool(unsettled)


def _exchange_questions(questions: list[DnsQuery], server: Server, seconds: float) -> None:
    """Send the questions to one server at once and pass each question its answer."""
    until = time.monotonic() + seconds
    sockets: list[socket] = []
    sent: list[tuple[DnsQuery, bytes, socket]] = []
    try:
        for question in questions:
            question.step = QueryStep.SILENT
            query = wire.query_packet(
                question.target, question.rdtype, with_edns=question.with_edns
            )
            try:
                family, address = _socket_address(server)
                sockets.append(sock := socket(family, SOCK_DGRAM))
                # The socket is connected, so the kernel drops packets of other senders, and reports
                # when no server listens.
                sock.connect(address)
                sock.send(query)
            except OSError as error:
                question.fail(f"{type(error).__name__}: {error}", server_text(server))
            else:
                sent.append((question, query, sock))
        # IPv4 first: if the other family is silent, time for TCP must be left
        for question, query, sock in sent:
            _receive_answer(question, query, sock, server, until)
    finally:
        for sock in sockets:
            sock.close()


@lru_cache
def _socket_address(server: Server) -> tuple[int, Any]:
    """The family and the address of a server for a socket. They are cached, since formatting them
    again took a tenth of a look-up.
    """
    return dns.inet.af_for_address(server[0]), dns.inet.low_level_address_tuple(server)


def _receive_answer(
    question: DnsQuery, query: bytes, sock: socket, server: Server, until: float
) -> None:
    try:
        heard = _await_answer(query, sock, server, until)
    except (TimeoutError, dns.exception.Timeout):
        return
    except (OSError, EOFError, dns.exception.DNSException) as error:
        question.fail(f"{type(error).__name__}: {error}", server_text(server))
    else:
        question.take(heard, server_text(server))


def _await_answer(query: bytes, sock: socket, server: Server, until: float) -> ParsedResponse:
    """Wait for the answer and drop other packets. Raises TimeoutError when there is none in time.

    An answer with changed letters may be forged. Such an answer counts if the server is known to
    change letters: an answer by TCP, which cannot be forged, showed that, or TCP is not available.
    """
    strays = 0
    while (left := until - time.monotonic()) > 0:
        sock.settimeout(left)
        packet = sock.recv(LARGEST_PACKET_BYTES)
        match = wire.match_packet(packet, query)
        strays += match is not wire.PacketMatch.EXACT
        is_doubtful = match is wire.PacketMatch.FOLDED and server not in _folding
        if is_doubtful or strays == MOST_STRAYS:
            told = _exchange_by_tcp_or_none(query, server, left / 2)
            if is_doubtful and not (told and _repeats_question(told, query)):
                _folding.add(server)
            if told:
                return parse_response(told)
        if match is not wire.PacketMatch.NONE and (
            heard := _read_answer(packet, query, server, until)
        ):
            return heard
    raise TimeoutError


def _read_answer(
    packet: bytes, query: bytes, server: Server, until: float
) -> ParsedResponse | None:
    """Return the packet's answer, or that of TCP if the packet is truncated; None if the packet
    cannot be read.
    """
    if plain := wire.read_packet(packet, query):
        return plain
    try:
        response = dns.message.from_wire(packet)
    except (dns.exception.DNSException, ValueError, struct.error):
        return None
    if response.flags & dns.flags.TC:
        response = _exchange_by_tcp(query, server, max(until - time.monotonic(), 0.001))
    return parse_response(response) if isinstance(response, dns.message.QueryMessage) else None


def _exchange_by_tcp_or_none(
    query: bytes, server: Server, seconds: float
) -> dns.message.QueryMessage | None:
    try:
        return _exchange_by_tcp(query, server, seconds)
    except (OSError, EOFError, dns.exception.DNSException):
        return None


def _exchange_by_tcp(query: bytes, server: Server, seconds: float) -> dns.message.QueryMessage:
    address, port = server
    exchanges.note_tcp(server)
    asked = dns.message.from_wire(query)
    told = dns.query.tcp(asked, address, timeout=seconds, port=port)
    # a message with the opcode of a query is a QueryMessage
    return cast(dns.message.QueryMessage, told)


def _repeats_question(told: dns.message.QueryMessage, query: bytes) -> bool:
    """Whether an answer repeats the question letter for letter."""
    asked = dns.message.from_wire(query).question[0].name
    return bool(told.question) and told.question[0].name.labels == asked.labels


def server_text(server: Server) -> str:
    """The server in the spelling of the settings."""
    address, port = server
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
