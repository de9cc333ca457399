"""HTTP's rules on how long an answer may be used again (RFC 9111): its age and use by its headers;
how to ask whether a document has changed, and to make an answer from "it has not" (RFC 9110,
section 13; RFC 9111, section 4.3); and which fields of a head have one value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache

MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?([0-9]{1,10})", re.IGNORECASE)
#: the longest time for which an answer is fresh (RFC 9111, section 1.2.2, allows this)
LONGEST_SECONDS = 366 * 24 * 3600
#: directives of Cache-Control: private, or not without asking the server first
FORBIDDING = frozenset({"no-store", "no-cache", "private", "must-revalidate"})
#: the headers that every crawl sends alike; an answer that varies by any other may be for one crawl
#: alone
SENT_ALIKE = frozenset({"accept", "accept-encoding"})
#: a client that sends one of these may get another answer
PERSONAL = re.compile(
    rb"^(?:cookie|authorization|proxy-authorization)[ \t]*:", re.IGNORECASE | re.MULTILINE
)
#: headers that may be sent back as they came; longer ones are no validators but a means of tracking
#: readers
ETAG = re.compile(r"[\x21-\x7e\x80-\xff][\x20-\x7e\x80-\xff]{0,500}")
#: fields about a single answer, not about the document
OF_THE_ANSWER = frozenset(
    {"content-length", "content-encoding", "content-range", "transfer-encoding", "connection"}
)


@lru_cache(maxsize=1024)  # a site's pages were often changed together
def read_date(text: str) -> datetime | None:
    """An HTTP date; None if the text is none."""
    if not text or len(text) > 60:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def fresh_until(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """The time until which the answer counts as fresh; None if it states none.

    `max-age` takes precedence over `Expires`.
    """
    stated = MAX_AGE.search(headers.get("Cache-Control", ""))
    if stated:
        return now + timedelta(seconds=min(int(stated[1]), LONGEST_SECONDS))
    expires = read_date(headers.get("Expires", ""))
    return min(expires, now + timedelta(seconds=LONGEST_SECONDS)) if expires else None


def may_be_reused(answer: Mapping[str, str], request: bytes) -> bool:
    """Whether nothing in the answer's headers or the request forbids its reuse.

    The caller checks that the answer is fresh.

    `must-revalidate` forbids only stale answers. An answer without a stated age may be stale, so
    the directive counts in any case.
    """
    control = {
        part.partition("=")[0].strip().lower()
        for part in answer.get("Cache-Control", "").split(",")
    }
    varies = {part.strip().lower() for part in answer.get("Vary", "").split(",") if part.strip()}
    is_personal = "Set-Cookie" in answer or PERSONAL.search(request) is not None
    return not (
        control & FORBIDDING
        or varies - SENT_ALIKE
        or is_personal
        or "no-cache" in answer.get("Pragma", "").lower()
    )


def read_etag(text: str) -> str:
    """An entity tag that may be sent back; "" if there is none."""
    tag = text.strip()
    return tag if ETAG.fullmatch(tag) else ""


def condition_headers(etag: str, last_modified: datetime | None) -> dict[str, str]:
    """The headers that request a document only if it differs from this one; empty if the document
    has no validator.
    """
    headers = {"If-None-Match": etag} if etag else {}
    if last_modified:
        headers["If-Modified-Since"] = format_datetime(last_modified, usegmt=True)
    return headers


def read_head(head: str) -> dict[str, str]:
    """The fields of an answer's head as it was archived, by name in small letters; the values of a
    list that comes twice are joined.
    """
    fields: dict[str, str] = {}
    for name, mark, value in (line.partition(":") for line in head.split("\n")[1:]):
        if mark:
            key, said = name.strip().lower(), value.strip()
            if key in fields and key not in SINGLE:
                fields[key] = f"{fields[key]}, {said}"
            elif not fields.get(key):
                fields[key] = said
    return fields


def renewed(stored: Mapping[str, str], said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The stored document's fields, updated by those of "not modified" (RFC 9111, section 3.2)."""
    return {
        **stored,
        **{name.lower(): value for name, value in said if name.lower() not in OF_THE_ANSWER},
    }


#: Fields with one value. If there are several lines, the first that is not empty counts, as
#: browsers and curl do for Location; all other fields are lists. Content-Type has a rule of its own
#: (`crawling.web.content.media_types`).
SINGLE = frozenset(
    {
        *("age", "content-disposition", "content-length", "content-location", "content-range"),
        *("date", "etag", "expires", "last-modified", "location", "refresh", "retry-after"),
        "server",
    }
)
