"""The rules of HTTP on reusing answers (RFC 9111): how long an answer may be reused by its age and
headers, how to ask whether a document has changed, how to make an answer from *not modified* (RFC
9110, section 13; RFC 9111, section 4.3), and which header fields have a single value.
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
#: Cache-Control directives that make an answer private, or allow its reuse only after asking the
#: server
FORBIDDING = frozenset({"no-store", "no-cache", "private", "must-revalidate"})
#: the headers that every crawl sends alike; an answer that depends on any other header may be for
#: one crawl alone
SENT_ALIKE = frozenset({"accept", "accept-encoding"})
#: headers that make an answer personal: a client that sends one may get a different answer
PERSONAL = re.compile(
    rb"^(?:cookie|authorization|proxy-authorization)[ \t]*:", re.IGNORECASE | re.MULTILINE
)
#: validators that may be sent back unchanged; longer values are no validators but a means of
#: tracking readers
ETAG = re.compile(r"[\x21-\x7e\x80-\xff][\x20-\x7e\x80-\xff]{0,500}")
#: header fields about a single answer, not about the document
OF_THE_ANSWER = frozenset(
    {"content-length", "content-encoding", "content-range", "transfer-encoding", "connection"}
)


@lru_cache(maxsize=1024)  # the pages of a site often have the same date
def read_date(text: str) -> datetime | None:
    """An HTTP date; None if the text is not one."""
    if not text or len(text) > 60:
        return None
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def fresh_until(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """The time until which the answer counts as fresh; None if the answer states no time.

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
    the directive always counts for it.
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
    """An entity tag that may be sent back; "" if the header has none."""
    tag = text.strip()
    return tag if ETAG.fullmatch(tag) else ""


def condition_headers(etag: str, last_modified: datetime | None) -> dict[str, str]:
    """The headers that request a document only if it differs from this one; empty if this one has
    no validator.
    """
    headers = {"If-None-Match": etag} if etag else {}
    if last_modified:
        headers["If-Modified-Since"] = format_datetime(last_modified, usegmt=True)
    return headers


def read_head(head: str) -> dict[str, str]:
    """The fields of an archived head, by name in lower case. The values of a list field that occurs
    twice are joined.
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


def renewed_fields(stored: Mapping[str, str], said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The stored document's fields, updated by the fields of the *not modified* answer (RFC 9111,
    section 3.2).
    """
    return {
        **stored,
        **{name.lower(): value for name, value in said if name.lower() not in OF_THE_ANSWER},
    }


#: Fields with a single value. Of several lines, the first that is not empty counts, as in browsers
#: and curl for Location. All other fields are lists. Content-Type has a separate rule
#: (`crawling.web.content.media_types`).
SINGLE = frozenset(
    {
        *("age", "content-disposition", "content-length", "content-location", "content-range"),
        *("date", "etag", "expires", "last-modified", "location", "refresh", "retry-after"),
        "server",
    }
)
