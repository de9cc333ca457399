"""The only module that asks a name server.

A and AAAA leave together, each from a new socket (a new source port) with a random id; only what answers exactly the question
and comes from the server asked counts.
"""

from __future__ import annotations

import time
from functools import lru_cache
from socket import MSG_PEEK, SOCK_DGRAM, socket
from typing import Any

import dns.exception
import dns.flags
import dns.inet
import dns.message
import dns.query
import dns.rdatatype
import dns.resolver
from django.conf import settings

from dnscache import wire
from dnscache.answers import Reply, Status
from dnscache.heard import Heard, heard_from
from dnscache.question import Question, Step, merged

#: how long each try waits for an answer; the tries go round the servers
TRY_SECONDS = (1.0, 2.0, 5.0)
#: no plain answer is longer
PLAIN_BYTES = 4096

Server = tuple[str, int]


def configured_servers() -> tuple[Server, ...]:
    """Return the servers of the setting DNS_SERVERS, or else the system's (none: an empty tuple)."""
    return tuple(settings.DNS_SERVERS) or _system_servers()


@lru_cache(maxsize=1)
def _system_servers() -> tuple[Server, ...]:
    try:
        resolver = dns.resolver.Resolver()
    except dns.resolver.NoResolverConfiguration:
        return ()
    return tuple((str(address), resolver.port) for address in resolver.nameservers)


def ask(name: str, *, seconds: float, servers: tuple[Server, ...] | None = None, tries: tuple[float, ...] = TRY_SECONDS) -> Reply:
    """Ask for all addresses of a canonical name, for at most `seconds`; whatever happens is told in the reply.

    IPv4 addresses come first, being reachable from everywhere. A silent server gets its next try after the others; one that
    fails gets none; `tries` says how long each one waits. A family that does not answer in the first try does not hold up one that has.
    """
    started = time.monotonic()
    waiting = list(configured_servers() if servers is None else servers)
    if not waiting:
        return Reply(Status.SERVFAIL, error="no name server is known; set DNS_SERVERS")
    questions = [Question(name, rdtype) for rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA)]
    silences = 0
    while waiting and silences < len(tries):
        now = time.monotonic()
        unsettled = [question for question in questions if question.step is not Step.SETTLED]
        if now >= started + seconds or not _worth_asking(questions, unsettled):
            break
        _exchange(unsettled, waiting[0], min(now + tries[silences], started + seconds) - now)
        steps = {question.step for question in unsettled}
        if Step.FAILED in steps:
            waiting.pop(0)
        elif Step.SILENT in steps:
            waiting.append(waiting.pop(0))
            silences += 1
    return merged(questions, resolve_ms=round(1000 * (time.monotonic() - started)))


def _worth_asking(questions: list[Question], unsettled: list[Question]) -> bool:
    if any(question.reply.addresses for question in questions):
        return any(question.step is Step.ALIAS for question in unsettled)
    return bool(unsettled)


def _exchange(questions: list[Question], server: Server, seconds: float) -> None:
    """Put the questions to one server at once and let each take what comes back in time."""
    until = time.time() + seconds  # dnspython counts by this clock
    sockets: list[socket] = []
    sent: list[tuple[Question, bytes, socket]] = []
    try:
        for question in questions:
            question.step = Step.SILENT
            query = wire.query(question.target, question.rdtype)
            try:
                family, address = _reach(server)
                sockets.append(sock := socket(family, SOCK_DGRAM))
                # Connected: the kernel drops what others send, and tells when nobody listens there.
                sock.connect(address)
                sock.send(query)
            except OSError as error:
                question.fail(f"{type(error).__name__}: {error}", _text(server))
            else:
                sent.append((question, query, sock))
        for question, query, sock in sent:  # addresses of IPv4 first: a silent other family must leave them time for TCP
            _receive(question, query, sock, server, until)
    finally:
        for sock in sockets:
            sock.close()


@lru_cache
def _reach(server: Server) -> tuple[int, Any]:
    """The family and the address that a socket takes; spelling them out anew cost a tenth of a look-up."""
    return dns.inet.af_for_address(server[0]), dns.inet.low_level_address_tuple(server)


def _receive(question: Question, query: bytes, sock: socket, server: Server, until: float) -> None:
    try:
        sock.settimeout(max(until - time.time(), 0.001))
        heard = wire.read(sock.recv(PLAIN_BYTES, MSG_PEEK), query) or _read_thoroughly(query, sock, server, until)
    except (TimeoutError, dns.exception.Timeout):
        return
    except (OSError, EOFError, dns.exception.DNSException) as error:
        question.fail(f"{type(error).__name__}: {error}", _text(server))
    else:
        question.take(heard, _text(server))


def _read_thoroughly(query: bytes, sock: socket, server: Server, until: float) -> Heard:
    """Let dnspython wait for the answer, what was only looked at so far included; over TCP if it is truncated."""
    sock.setblocking(False)
    asked = dns.message.from_wire(query)
    response = dns.query.receive_udp(sock, None, until, ignore_errors=True, query=asked)[0]
    if response.flags & dns.flags.TC:
        response = dns.query.tcp(asked, server[0], timeout=max(until - time.time(), 0.001), port=server[1])
    return heard_from(response)


def _text(server: Server) -> str:
    address, port = server
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
