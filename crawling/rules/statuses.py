"""What became of a fetch: HTTP's own codes, and negative ones for everything that is not HTTP (SEEDS B2)."""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus

#: as many as browsers follow (WHATWG Fetch, HTTP-redirect fetch)
MOST_REDIRECTS = 20
#: an answer without a document: the one that we have is still right
NOT_MODIFIED_STATUS = 304


class FetchStatus(IntEnum):
    """Negative codes; `sentence` tells an operator what each means."""

    NAME_UNKNOWN = -1
    NAME_UNANSWERED = -2
    ADDRESS_REFUSED = -3
    CONNECT_FAILED = -4
    TIMED_OUT = -5
    TOO_BIG = -6
    BROKEN_ANSWER = -7
    ROBOTS_FORBID = -8
    ROBOTS_UNAVAILABLE = -9
    TLS_FAILED = -10
    WORKER_DIED = -11
    TOO_MANY_REDIRECTS = -12
    HOST_BLOCKED = -13
    ARCHIVE_BUSY = -20
    TRAP = -30
    OUR_FAULT = -99

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES = {
    FetchStatus.NAME_UNKNOWN: "The host's name does not exist.",
    FetchStatus.NAME_UNANSWERED: "No name server answered for the host's name.",
    FetchStatus.ADDRESS_REFUSED: "The host's address is not public and no administrator has allowed it.",
    FetchStatus.CONNECT_FAILED: "The server did not accept a connection.",
    FetchStatus.TIMED_OUT: "The server took too long to answer.",
    FetchStatus.TOO_BIG: "The document is larger than the crawl takes.",
    FetchStatus.BROKEN_ANSWER: "The server's answer broke off or was not HTTP.",
    FetchStatus.ROBOTS_FORBID: "The site's robots.txt forbids this page.",
    FetchStatus.ROBOTS_UNAVAILABLE: "The site's robots.txt could not be had, so nothing may be fetched yet.",
    FetchStatus.TLS_FAILED: "The server's certificate or encryption was not accepted.",
    FetchStatus.WORKER_DIED: "The crawler's worker died each time it had this page in hand.",
    FetchStatus.TOO_MANY_REDIRECTS: f"More than {MOST_REDIRECTS} redirects led from one to the next.",
    FetchStatus.HOST_BLOCKED: "An operator has blocked the host for all crawls.",
    FetchStatus.ARCHIVE_BUSY: "The page was fetched, but no archive file could be opened for it in time.",
    FetchStatus.TRAP: "An operator banned the pattern of this address as a trap.",
    FetchStatus.OUR_FAULT: "The crawler made a mistake on this page; please report it with the crawl's log.",
}

#: what may be different in a moment
TRANSIENT = frozenset(
    {
        FetchStatus.NAME_UNANSWERED,
        FetchStatus.CONNECT_FAILED,
        FetchStatus.TIMED_OUT,
        FetchStatus.BROKEN_ANSWER,
        FetchStatus.ROBOTS_UNAVAILABLE,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)

#: what concerns a host and not the one URL
OF_THE_HOST = frozenset(
    {
        FetchStatus.NAME_UNKNOWN,
        FetchStatus.NAME_UNANSWERED,
        FetchStatus.ADDRESS_REFUSED,
        FetchStatus.CONNECT_FAILED,
        FetchStatus.ROBOTS_UNAVAILABLE,
        FetchStatus.TLS_FAILED,
    }
)


def is_redirect(status: int) -> bool:
    return status in (301, 302, 303, 307, 308)


def succeeded(status: int) -> bool:
    return 200 <= status < 400


def explain(status: int) -> str:
    """A short sentence for any status, HTTP's or ours."""
    if status < 0:
        return FetchStatus(status).sentence
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP status {status}"
