"""What a reader would see different between two stored pages, line by line."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import islice
from typing import NamedTuple, TypeVar

import turbohtml

from crawling.archive.decoded_documents import document_in
from crawling.archive.reader import content_of, record_of
from crawling.errors import ArchiveTrouble
from crawling.models import Page
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.css_selectors import SelectorTookTooLong, select
from crawling.web.documents.tree import parse_html

#: of longer ones the beginnings are compared
MOST_BYTES = 1024 * 1024
MOST_LINES = 3000
CONTEXT = 3
#: characters
MOST_SHOWN_OF_A_LINE = 2000
#: elements that a selector selects, and texts in them; nested elements repeat them
MOST_ELEMENTS, MOST_TEXTS = 1000, 100_000
UNSEEN = "script,style,noscript,template"
#: between lines that are unique, so many are compared each with each; of more, all have changed
MOST_EACH_WITH_EACH = 64
Item = TypeVar("Item", bound=Hashable)


class DiffLine(NamedTuple):
    """A line of both (`same`), of one of the two (`gone`, `added`), or how many equal ones are left
    out (`skipped`).
    """

    kind: str
    text: str


def text_lines(page: Page, selector: str = "") -> list[str]:
    """The lines that a reader sees of a stored page.

    selector: of HTML, only those of elements that it selects; of other types, none.

    Raises ArchiveTrouble for what is not stored, or is no text.
    """
    if page.content_type.partition("/")[0] != "text" and not page.content_type.endswith(
        ("xml", "json")
    ):
        raise ArchiveTrouble(
            f"{page.content_type or 'A document without a type'} has no text that could be "
            "compared."
        )
    payload = document_in(record_of(content_of(page)))[:MOST_BYTES]
    if "html" in page.content_type:
        document = parse_html(DocumentStream.of(payload), page.charset or None).document
        document.remove(UNSEEN)
        parts = _selected(document, selector) if selector else [document]
        texts = islice((text for part in parts for text in part.strings), MOST_TEXTS)
        lines = "\n".join(texts).splitlines()
    elif selector:
        lines = []
    else:
        lines = payload.decode(_charset(page), errors="replace").splitlines()
    return [short for line in lines if (short := " ".join(line.split()))][:MOST_LINES]


def _selected(document: turbohtml.Document, selector: str) -> list[turbohtml.Element]:
    """Raises ArchiveTrouble."""
    try:
        return select(document, selector)[:MOST_ELEMENTS]
    except SelectorTookTooLong as error:
        raise ArchiveTrouble(str(error)) from error


def _charset(page: Page) -> str:
    try:
        "".encode(page.charset)
    except LookupError:
        return "utf-8"
    return page.charset or "utf-8"


def compared(old: Page, new: Page) -> list[DiffLine]:
    """The differences between the texts of two pages. Raises ArchiveTrouble.

    To be called in a background job: this parses foreign documents.
    """
    lines = diff(text_lines(old), text_lines(new))
    return [DiffLine(line.kind, line.text[:MOST_SHOWN_OF_A_LINE]) for line in lines]


def diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """The differences with a few equal lines around them; nothing if there are none."""
    return list(_diff(old, new))


def _diff(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    at = 0
    for group in ByUniqueItems(old, new).get_grouped_opcodes(CONTEXT):
        if skipped := group[0][1] - at:
            yield DiffLine("skipped", f"{skipped:,} equal line{'s' if skipped != 1 else ''}")
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (DiffLine("unchanged", line) for line in old[old_from:old_to])
            else:
                yield from (DiffLine("removed", line) for line in old[old_from:old_to])
                yield from (DiffLine("added", line) for line in new[new_from:new_to])
        at = group[-1][2]
    if at and (rest := len(old) - at):
        yield DiffLine("skipped", f"{rest:,} equal line{'s' if rest != 1 else ''}")


class ByUniqueItems(SequenceMatcher[Item]):
    """Matches lines, or other items, by those that both have once (patience diff), in n log n.

    The matcher itself takes time with the cube of items that repeat.
    """

    def __init__(self, old: Sequence[Item], new: Sequence[Item]) -> None:
        super().__init__(None, old, new)
        self._texts = old, new

    def get_matching_blocks(self) -> list[Match]:
        old, new = self._texts
        blocks: list[Match] = []
        old_at = new_at = 0
        for old_to, new_to in [*_anchors(old, new), (len(old), len(new))]:
            if old_to < old_at or new_to < new_at:
                continue  # a block before has it
            blocks += _between(old[old_at:old_to], new[new_at:new_to], old_at, new_at)
            size = _equal(old[old_to:], new[new_to:])
            blocks.append(Match(old_to, new_to, size))
            old_at, new_at = old_to + size, new_to + size
        return [*_joined(blocks), Match(len(old), len(new), 0)]


def _anchors(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[int, int]]:
    """Of the lines that are unique in both, the most that are in the same order."""
    old_times, new_times = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if new_times[line] == 1}
    ends: list[int] = []  # places in `new` at which chains of each length may end
    chains: list[tuple[int, int, int]] = []  # a line's places and the chain that it continues
    last: list[int] = []  # of each length, the chain that ends so
    for at, line in enumerate(old):
        if old_times[line] == 1 and line in places:
            length = bisect_left(ends, places[line])
            chains.append((at, places[line], last[length - 1] if length else -1))
            ends[length : length + 1] = [places[line]]
            last[length : length + 1] = [len(chains) - 1]
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        at, place, number = chains[number]
        found.append((at, place))
    return found[::-1]


def _between(old: Sequence[Item], new: Sequence[Item], old_at: int, new_at: int) -> list[Match]:
    """What is equal at both ends of a gap, and in its middle if that is short."""
    head = _equal(old, new)
    tail = _equal(old[: head - 1 if head else None : -1], new[: head - 1 if head else None : -1])
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    middle: list[Match] = []
    if max(len(inner_old), len(inner_new)) <= MOST_EACH_WITH_EACH:
        middle = SequenceMatcher(None, inner_old, inner_new, False).get_matching_blocks()
    blocks = [Match(0, 0, head), *(Match(a + head, b + head, size) for a, b, size in middle)]
    blocks.append(Match(len(old) - tail, len(new) - tail, tail))
    return [Match(a + old_at, b + new_at, size) for a, b, size in blocks]


def _equal(old: Sequence[Item], new: Sequence[Item]) -> int:
    """How many lines are equal from the beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _joined(blocks: Iterable[Match]) -> Iterator[Match]:
    """Blocks that have lines, those that follow each other as one."""
    held = Match(0, 0, 0)
    for block in blocks:
        if (block.a, block.b) == (held.a + held.size, held.b + held.size):
            held = Match(held.a, held.b, held.size + block.size)
        else:
            if held.size:
                yield held
            held = block
    if held.size:
        yield held
