"""The action for each status, compared with table 1.1 of the book chapter (SEEDS B2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from crawling.web.politeness import MAX_ATTEMPTS
from crawling.web.statuses import (
    MOST_REDIRECTS,
    NOT_MODIFIED_STATUS,
    OUTAGES,
    RENDERINGS_ENDED,
    UNWANTED,
    FetchStatus,
    is_redirect,
    is_success,
    may_pass,
)


class StatusPolicy(StrEnum):
    """The treatment of a URL by its status. The value is the sentence that users read."""

    READ = "read, links followed"
    FOLLOW = f"follow, {MOST_REDIRECTS} in a row"
    UNCHANGED = "keep what the earlier run has"
    WAIT = "wait for the host, then drop as failed"
    AGAIN = f"ask again, {MAX_ATTEMPTS} times in all"
    ANSWER = "answer with credentials, else drop"
    DROP = "drop as failed"
    EXCLUDE = "drop as excluded"
    PLAIN = "read as fetched, without its scripts"


def policy_of(status: int) -> StatusPolicy:
    if is_redirect(status):
        return StatusPolicy.FOLLOW
    if status == NOT_MODIFIED_STATUS:
        return StatusPolicy.UNCHANGED
    if status in OUTAGES or status == FetchStatus.HOST_BUSY:
        return StatusPolicy.WAIT
    if may_pass(status):
        return StatusPolicy.AGAIN
    if status == 401:
        return StatusPolicy.ANSWER
    if status in RENDERINGS_ENDED:
        return StatusPolicy.PLAIN
    if status in UNWANTED:
        return StatusPolicy.EXCLUDE
    return StatusPolicy.READ if is_success(status) else StatusPolicy.DROP


#: the rules of the book; statuses that it does not mention are left out
BOOK = {
    200: StatusPolicy.READ,
    202: StatusPolicy.AGAIN,
    204: StatusPolicy.DROP,
    300: StatusPolicy.READ,
    301: StatusPolicy.FOLLOW,
    302: StatusPolicy.FOLLOW,
    303: StatusPolicy.FOLLOW,
    304: StatusPolicy.DROP,
    307: StatusPolicy.FOLLOW,
    400: StatusPolicy.DROP,
    401: StatusPolicy.DROP,
    403: StatusPolicy.DROP,
    404: StatusPolicy.DROP,
    **dict.fromkeys((500, 501, 502, 503, 504, 505), StatusPolicy.DROP),
}
#: the reasons for rules that differ from the book's
REASONS = {
    204: "the URL works and is counted so, though there is nothing to keep",
    304: "asked for only where an earlier run has the page, which continues to count",
    401: "the book's crawler has no credentials",
    500: "most such errors are over in a moment",
    502: "a gateway in front of the site restarts, say",
    503: "the site asks for patience, and may say how much (Retry-After)",
    504: "a gateway in front of the site waited too long, once",
}
MEANINGS = {
    200: "OK",
    201: "Created; does not occur for what is only read",
    202: "Accepted, not done yet; read as it is after the last try",
    203: "OK, changed by a proxy on the way",
    204: "OK, without a document",
    206: "A part, though the whole was asked for",
    300: "Several choices, listed in the document",
    301: "Moved permanently",
    302: "Moved for now",
    303: "See another address",
    304: "Not changed since the earlier run",
    307: "Moved for now, same method",
    308: "Moved permanently, same method",
    400: "Bad request",
    401: "Wants a user name and a password",
    403: "Forbidden",
    404: "Not found",
    407: "The proxy wants a user name and a password",
    408: "The server waited too long for the request",
    410: "Deleted permanently",
    425: "Too early",
    429: "Too many requests",
    451: "Withheld for legal reasons",
    500: "The server failed",
    501: "The server cannot do this",
    502: "A gateway got no good answer",
    503: "Unavailable for now",
    504: "A gateway got no answer in time",
    505: "The server does not speak this version of HTTP",
}


@dataclass(frozen=True, slots=True)
class StatusPolicyRow:
    status: int
    meaning: str
    #: the rule of the book; empty if the book does not mention the status
    book: str
    ours: str
    #: the reason for another choice; empty if both agree
    why: str

    @property
    def differs(self) -> bool:
        return bool(self.book) and self.book != self.ours


def status_rows() -> Iterator[StatusPolicyRow]:
    """The HTTP statuses that a crawl meets, followed by our own statuses."""
    for status, meaning in MEANINGS.items():
        yield StatusPolicyRow(
            status, meaning, BOOK.get(status, ""), policy_of(status), REASONS.get(status, "")
        )
    for ours in FetchStatus:
        yield StatusPolicyRow(ours, ours.sentence, "", policy_of(ours), "")


def as_markdown() -> str:
    lines = [
        "# Statuses",
        "",
        "`python manage.py statuses --markdown` prints this page. *The book* is table 1.1 of "
        "SEEDS B, a",
        "chapter on crawlers; a **bold** rule differs from the book's. Any other 2xx is read, "
        "any other 4xx",
        "dropped, any other 5xx retried. A URL that fails on its last try stays failed until it is",
        "retried by hand.",
        "",
        "| status | means | the book | crawlsite | why another |",
        "|---|---|---|---|---|",
    ]
    for row in status_rows():
        ours = f"**{row.ours}**" if row.differs else row.ours
        lines.append(
            f"| {row.status} | {row.meaning} | {row.book or '–'} | {ours} | {row.why or '–'} |"
        )
    return "\n".join([*lines, ""])
