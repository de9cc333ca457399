"""The results of fetches: HTTP's own codes, and negative codes for everything that is not HTTP
(SEEDS B2).
"""

from __future__ import annotations

from enum import IntEnum
from http import HTTPStatus

#: the most redirects in a row, as in browsers (WHATWG Fetch, HTTP-redirect fetch)
MOST_REDIRECTS = 20
#: the most sitemap indexes in a row; sitemaps.org does not let an index name another
MOST_INDEXES = 3
#: an answer without a document, which confirms the stored one
NOT_MODIFIED_STATUS = 304
#: the statuses of pages that have a document: a 304 has the document that it confirms (RFC 9110,
#: 15.4.5)
DOCUMENT_STATUSES = (200, NOT_MODIFIED_STATUS)


class FetchStatus(IntEnum):
    """Negative codes. `sentence` explains each to an operator."""

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
    PROXY_FAILED = -13
    FILE_REFUSED = -14
    HOST_BUSY = -15
    REDIRECT_LOOP = -16
    REDIRECT_NOWHERE = -17
    UNDECODABLE = -18
    MALFORMED = -19
    ARCHIVE_BUSY = -20
    MEMORY_BUSY = -21
    MEMORY_SPENT = -22
    NESTED_SITEMAPS = -23
    NO_PROTOCOL = -24
    TOO_SLOW = -25
    TRAP = -30
    FILTERED = -40
    BLOCKLISTED = -41
    WRONG_TYPE = -42
    TOO_LARGE = -43
    HOST_BUDGET = -44
    TAKEN_OUT = -45
    DOMAIN_BUDGET = -46
    RENDER_TIMED_OUT = -50
    RENDER_MEMORY = -51
    RENDER_CRASHED = -52
    RENDER_REQUESTS = -53
    RENDER_BYTES = -54
    RENDER_BUSY = -55
    RENDER_REFUSED = -56
    RENDER_BURDEN = -57
    OUR_FAULT = -99

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES = {
    FetchStatus.NAME_UNKNOWN: "The host's name does not exist.",
    FetchStatus.NAME_UNANSWERED: "No name server answered for the host's name.",
    FetchStatus.ADDRESS_REFUSED: "The host's address is not public and no administrator has "
    "allowed it.",
    FetchStatus.CONNECT_FAILED: "The server did not accept a connection.",
    FetchStatus.TIMED_OUT: "The server took too long to answer.",
    FetchStatus.TOO_BIG: "The document is larger than the crawl takes.",
    FetchStatus.BROKEN_ANSWER: "The server's answer broke off or was not HTTP.",
    FetchStatus.ROBOTS_FORBID: "The site's robots.txt forbids this page.",
    FetchStatus.ROBOTS_UNAVAILABLE: "The site's robots.txt could not be had, so nothing may be "
    "fetched yet.",
    FetchStatus.TLS_FAILED: "The server's certificate or encryption was not accepted.",
    FetchStatus.WORKER_DIED: "The crawler's worker died each time it had this page in hand, at "
    "last with no other beside it.",
    FetchStatus.TOO_MANY_REDIRECTS: f"More than {MOST_REDIRECTS} redirects led from one to the "
    "next.",
    FetchStatus.PROXY_FAILED: "The crawl's proxy could not be reached or would not serve us.",
    FetchStatus.FILE_REFUSED: "The file is below no directory that an administrator has allowed.",
    FetchStatus.HOST_BUSY: "The host asks for a longer rest, or refuses pages for longer, than the "
    "crawl waits for it.",
    FetchStatus.REDIRECT_LOOP: "The redirect leads back to where it began.",
    FetchStatus.REDIRECT_NOWHERE: "The redirect leads to no address that can be fetched.",
    FetchStatus.UNDECODABLE: "Unpacking the document takes more than one document may take.",
    FetchStatus.MALFORMED: "The server's answer breaks the rules of HTTP.",
    FetchStatus.ARCHIVE_BUSY: "The page was fetched, but no archive file could be opened for it "
    "in time.",
    FetchStatus.MEMORY_BUSY: "Reading the document takes much memory, and none came free in time.",
    FetchStatus.MEMORY_SPENT: "Reading the document took more memory than its work process may "
    "have.",
    FetchStatus.NESTED_SITEMAPS: f"More than {MOST_INDEXES} sitemap indexes led from one to the "
    "next.",
    FetchStatus.NO_PROTOCOL: "The worker has no fetcher for addresses of this scheme: the package "
    "that adds it is not installed there.",
    FetchStatus.TOO_SLOW: "The answer had begun, but did not end within the longest time for one "
    "document.",
    FetchStatus.TRAP: "An operator banned the pattern of this address as a trap.",
    FetchStatus.FILTERED: "A rule of the crawl's scope or filters keeps this address out.",
    FetchStatus.BLOCKLISTED: "The blocklist of all crawls holds this address.",
    FetchStatus.WRONG_TYPE: "The document's type is none that the crawl takes; only the "
    "answer's head was read.",
    FetchStatus.TOO_LARGE: "The document is larger than the crawl's filter allows; it was not "
    "read completely.",
    FetchStatus.HOST_BUDGET: "The crawl's limit on each host was reached before this page's turn.",
    FetchStatus.DOMAIN_BUDGET: "The crawl's limit of pages on each domain was reached before this "
    "page's turn.",
    FetchStatus.TAKEN_OUT: "An operator removed this URL from the queue.",
    FetchStatus.RENDER_TIMED_OUT: "Rendering the page was ended: it took longer than a page may.",
    FetchStatus.RENDER_MEMORY: "Rendering the page was ended: it took more memory than a page may "
    "have.",
    FetchStatus.RENDER_CRASHED: "Rendering the page was ended: the browser crashed on it.",
    FetchStatus.RENDER_REQUESTS: "Rendering the page was ended: it made more requests, or wrote "
    "more messages, than a page may.",
    FetchStatus.RENDER_BYTES: "Rendering the page was ended: it received more than a page may.",
    FetchStatus.RENDER_BUSY: "The page was not rendered: no browser came free in time.",
    FetchStatus.RENDER_REFUSED: "The page was not rendered: the browser would not open it, or its "
    "scripts led away from it.",
    FetchStatus.RENDER_BURDEN: "Rendering the page was ended: it left the browser no time for the "
    "pages of others.",
    FetchStatus.OUR_FAULT: "The crawler made a mistake on this page; please report it with the "
    "crawl's log.",
}

#: ends of renderings, which stand in the row of a page that is kept as it was fetched
RENDERINGS_ENDED = frozenset(
    {
        FetchStatus.RENDER_TIMED_OUT,
        FetchStatus.RENDER_MEMORY,
        FetchStatus.RENDER_CRASHED,
        FetchStatus.RENDER_REQUESTS,
        FetchStatus.RENDER_BYTES,
        FetchStatus.RENDER_BUSY,
        FetchStatus.RENDER_REFUSED,
        FetchStatus.RENDER_BURDEN,
    }
)
#: failures that may soon pass, besides the server's own statuses
TRANSIENT = frozenset(
    {
        FetchStatus.TIMED_OUT,
        FetchStatus.BROKEN_ANSWER,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_EARLY,
        FetchStatus.MEMORY_BUSY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)
#: the URL was not requested: its host's queue rests, and no try is used up (`rules/outages.py`)
OUTAGES = frozenset(
    {
        FetchStatus.NAME_UNANSWERED,
        FetchStatus.CONNECT_FAILED,
        FetchStatus.ROBOTS_UNAVAILABLE,
        FetchStatus.PROXY_FAILED,
    }
)
#: ends of redirect chains without a document
ASTRAY = frozenset(
    {FetchStatus.TOO_MANY_REDIRECTS, FetchStatus.REDIRECT_LOOP, FetchStatus.REDIRECT_NOWHERE}
)
#: statuses by which a host asks to be left alone
THROTTLES = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
#: statuses of a server that will not be able to answer in a moment either
NEVER_WILL = frozenset({HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.HTTP_VERSION_NOT_SUPPORTED})

#: statuses, besides those of server errors, that a host gives to all URLs if it is overloaded or
#: refuses the crawler
MAY_BE_HOST_FAULT = frozenset(
    {
        FetchStatus.TIMED_OUT,
        FetchStatus.TOO_SLOW,
        FetchStatus.BROKEN_ANSWER,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_EARLY,
        HTTPStatus.TOO_MANY_REQUESTS,
    }
)

#: the statuses that concern a host, and not only the URL
OF_THE_HOST = frozenset(
    {
        FetchStatus.NAME_UNKNOWN,
        FetchStatus.NAME_UNANSWERED,
        FetchStatus.ADDRESS_REFUSED,
        FetchStatus.CONNECT_FAILED,
        FetchStatus.ROBOTS_UNAVAILABLE,
        FetchStatus.TLS_FAILED,
        FetchStatus.PROXY_FAILED,
        FetchStatus.HOST_BUSY,
    }
)


def may_be_host_fault(status: int) -> bool:
    """Whether the host may be at fault, and not only the URL: several such answers in a row show
    it.
    """
    return status in MAY_BE_HOST_FAULT or (500 <= status < 600 and status not in NEVER_WILL)


def may_pass(status: int) -> bool:
    """Whether the answer may soon be different, so that the URL is fetched again."""
    if 500 <= status < 600:
        return status not in NEVER_WILL
    return status in TRANSIENT or status == HTTPStatus.ACCEPTED


#: statuses by which a server says that it cannot answer now
NO_ANSWERS = frozenset({408, 425, 429})
#: statuses that are no failures: a rule, or the page's site, excludes the page
UNWANTED = frozenset(
    {
        FetchStatus.ROBOTS_FORBID,
        FetchStatus.TRAP,
        FetchStatus.FILTERED,
        FetchStatus.BLOCKLISTED,
        FetchStatus.WRONG_TYPE,
        FetchStatus.TOO_LARGE,
        FetchStatus.HOST_BUDGET,
        FetchStatus.DOMAIN_BUDGET,
        FetchStatus.TAKEN_OUT,
    }
)


#: built once: a file explains thousands of URLs, and finding a status among the members takes
#: longer than this look-up
HTTP_SENTENCES = {one.value: f"{one.value} {one.phrase}" for one in HTTPStatus}


def is_answer(status: int) -> bool:
    """Whether this status of a robots.txt settles its rules, even if there are none."""
    return status // 100 in (2, 4) and status not in NO_ANSWERS


def is_redirect(status: int) -> bool:
    return status in (301, 302, 303, 307, 308)


def is_success(status: int) -> bool:
    return 200 <= status < 400


def status_sentence(status: int) -> str:
    if status < 0:
        return FetchStatus(status).sentence
    return HTTP_SENTENCES.get(status) or f"HTTP status {status}"
