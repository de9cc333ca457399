"""What a reader would see different between two stored pages, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bs4 import BeautifulSoup

from crawling.archive.reading import StoredRecord, decoded, original_of, record_of
from crawling.errors import ArchiveTrouble
from crawling.models import Page

#: finding differences takes time with the square of these
MOST_BYTES = 1024 * 1024
MOST_LINES = 3000
CONTEXT = 3
#: characters
MOST_SHOWN_OF_A_LINE = 2000
UNSEEN = ("script", "style", "noscript", "template")


class Line(NamedTuple):
    """A line of both (`same`), of one of the two (`gone`, `added`), or how many equal ones are left out (`skipped`)."""

    kind: str
    text: str


def text_lines(page: Page) -> list[str]:
    """The lines that a reader sees of a stored page. Raises ArchiveTrouble for what is not stored, or is no text."""
    if page.content_type.partition("/")[0] != "text" and not page.content_type.endswith(("xml", "json")):
        raise ArchiveTrouble(f"{page.content_type or 'A document without a type'} has no text that could be compared.")
    record = record_of(original_of(page))
    payload = decoded(record.payload, coding_of(record))[:MOST_BYTES]
    if "html" in page.content_type:
        soup = BeautifulSoup(payload, "html.parser", from_encoding=page.charset or None)
        for unseen in soup(UNSEEN):
            unseen.decompose()
        lines = soup.get_text("\n").splitlines()
    else:
        lines = payload.decode(_charset(page), errors="replace").splitlines()
    return [short for line in lines if (short := " ".join(line.split()))][:MOST_LINES]


def _charset(page: Page) -> str:
    try:
        "".encode(page.charset)
    except LookupError:
        return "utf-8"
    return page.charset or "utf-8"


def coding_of(stored: StoredRecord) -> str:
    """The content codings that the answer's head names."""
    fields = [line.partition(":") for line in stored.head.splitlines()[1:]]
    return ",".join(value for name, _, value in fields if name.strip().lower() == "content-encoding")


def compared(old: Page, new: Page) -> list[Line]:
    """The differences between the texts of two pages. Raises ArchiveTrouble.

    To be called in a background job: this reads what strangers wrote.
    """
    lines = diff(text_lines(old), text_lines(new))
    return [Line(line.kind, line.text[:MOST_SHOWN_OF_A_LINE]) for line in lines]


def diff(old: Sequence[str], new: Sequence[str]) -> list[Line]:
    """The differences with a few equal lines around them; nothing if there are none."""
    return list(_diff(old, new))


def _diff(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    at = 0
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT):
        if skipped := group[0][1] - at:
            yield Line("skipped", f"{skipped:,} equal line{'s' if skipped != 1 else ''}")
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (Line("same", line) for line in old[old_from:old_to])
            else:
                yield from (Line("gone", line) for line in old[old_from:old_to])
                yield from (Line("added", line) for line in new[new_from:new_to])
        at = group[-1][2]
    if at and (rest := len(old) - at):
        yield Line("skipped", f"{rest:,} equal line{'s' if rest != 1 else ''}")
