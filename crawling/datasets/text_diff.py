"""The differences between two stored pages as a reader sees them, line by line."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import NamedTuple, TypeVar

from crawling.datasets.seen_text import SeenText, seen_text
from crawling.models import Page

#: the most lines that may differ, and the most lines of a diff that are shown; the lines beyond are
#: counted
MOST_LINES, MOST_SHOWN = 20_000, 2_000
CONTEXT = 3
#: the most characters of a line that are shown
LONGEST_LINE = 500
#: in a long line: the number of words shown on each side of different words, and of characters on
#: each side of a difference in a long word
CONTEXT_WORDS, CONTEXT_CHARACTERS = 8, 40
#: the most words of long lines that are compared
MOST_WORDS = 100_000
CUT = "…"
#: the most lines between unique lines that are compared each with each; of more, all count as
#: changed
MOST_EACH_WITH_EACH = 64
Item = TypeVar("Item", bound=Hashable)


class DiffLine(NamedTuple):
    """A line of a diff: in both texts (`unchanged`), in one (`removed`, `added`), or a sentence on
    lines left out (`skipped`).
    """

    kind: str
    text: str


def compare_pages(old: Page, new: Page) -> list[DiffLine]:
    """The differences between the texts of two pages. Raises ArchiveTrouble.

    To be called in a background job, since this parses foreign documents.
    """
    return text_diff(seen_text(old), seen_text(new))


def text_diff(old: SeenText, new: SeenText, most: int = MOST_SHOWN) -> list[DiffLine]:
    """The differences, at most `most` lines, with notes on parts that were not compared. Empty if
    everything was compared and the words are equal.
    """
    lines = (
        []
        if _single_spaced(old.text) == _single_spaced(new.text)
        else diff_of_texts(old.text, new.text)
    )
    shown = lines[:most]
    if len(lines) > most:
        shown.append(DiffLine("skipped", f"{len(lines) - most:,} more lines"))
    unread = dict.fromkeys(one.unread for one in (old, new) if one.unread)
    if unread and not lines:
        shown.append(DiffLine("skipped", "The texts are the same as far as they are compared."))
    return shown + [DiffLine("skipped", f"{said} The rest was not compared.") for said in unread]


def _single_spaced(text: str) -> str:
    """The words of a text with one blank between them, so that line breaks are no differences."""
    return text.replace("\n", " ")


def diff_of_texts(old: str, new: str) -> list[DiffLine]:
    """The difference of texts of any length. Equal beginnings and ends take little time and
    memory.
    """
    head = _equal_lines(old, new)
    before = old.count("\n", 0, head)
    lines: list[Sequence[str]] = []
    for text in (old, new):
        some = text[head:].split("\n", MOST_LINES)
        lines.append([line for line in some[:MOST_LINES] if line])
    is_cut = any(text.count("\n", head) > MOST_LINES for text in (old, new))
    around = old[:head].rsplit("\n", CONTEXT + 1)[-CONTEXT - 1 : -1]
    found = line_diff([*around, *lines[0]], [*around, *lines[1]])
    if found and (above := before - len(around)):
        found.insert(0, DiffLine("skipped", _equal_lines_in_words(above)))
    if is_cut:
        found.append(
            DiffLine("skipped", f"Of the lines behind these {MOST_LINES:,}, none is shown.")
        )
    return found


def _equal_lines(old: str, new: str) -> int:
    """The number of characters in the whole lines at the beginning that both texts share."""
    least, most = 0, min(len(old), len(new))
    while least < most:
        middle = (least + most + 1) // 2
        if old[least:middle] == new[least:middle]:
            least = middle
        else:
            most = middle - 1
    return old.rfind("\n", 0, least) + 1


def line_diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """The differences with a few equal lines around each. Empty if there are none."""
    return list(_diff_lines(old, new))


def _diff_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    at = 0
    for group in ByUniqueItems(old, new).get_grouped_opcodes(CONTEXT):
        if skipped := group[0][1] - at:
            yield DiffLine("skipped", _equal_lines_in_words(skipped))
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (_unchanged_line(line) for line in old[old_from:old_to])
            else:
                yield from _changed_lines(old[old_from:old_to], new[new_from:new_to])
        at = group[-1][2]
    if at and (rest := len(old) - at):
        yield DiffLine("skipped", _equal_lines_in_words(rest))


def _equal_lines_in_words(lines: int) -> str:
    return f"{lines:,} equal line{'s' if lines != 1 else ''}"


def _unchanged_line(line: str) -> DiffLine:
    return DiffLine("unchanged", line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + CUT)


def _changed_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    """The lines that differ; of long lines, only the words that differ."""
    if " ".join(old) == " ".join(new):
        yield from (_unchanged_line(line) for line in new)
    elif not (old and new) or max(map(len, (*old, *new))) <= LONGEST_LINE:
        yield from (DiffLine("removed", _shortened_line(line)) for line in old)
        yield from (DiffLine("added", _shortened_line(line)) for line in new)
    else:
        yield from _changed_words(" ".join(old).split(" "), " ".join(new).split(" "))


def _shortened_line(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[: LONGEST_LINE // 2]} {CUT} {line[-LONGEST_LINE // 2 :]}"


def _changed_words(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    head = _count_equal_at_start(old, new)
    start = max(0, head - CONTEXT_WORDS)
    ones, others = old[start : start + MOST_WORDS], new[start : start + MOST_WORDS]
    for group in ByUniqueItems(ones, others).get_grouped_opcodes(CONTEXT_WORDS):
        first, last = group[0], group[-1]
        removed = " ".join(ones[first[1] : last[2]])
        added = " ".join(others[first[3] : last[4]])
        yield from _pair_of_changed_lines(
            _add_cut_marks(removed, start + first[1] > 0, start + last[2] < len(old)),
            _add_cut_marks(added, start + first[3] > 0, start + last[4] < len(new)),
        )


def _add_cut_marks(text: str, is_cut_before: bool, is_cut_behind: bool) -> str:
    return (f"{CUT} " if is_cut_before else "") + text + (f" {CUT}" if is_cut_behind else "")


def _pair_of_changed_lines(removed: str, added: str) -> Iterator[DiffLine]:
    """Two texts that differ, from shortly before the first different character."""
    at = 0
    if max(len(removed), len(added)) > LONGEST_LINE:
        at = max(0, _count_equal_at_start(removed, added) - CONTEXT_CHARACTERS)
    for kind, text in (("removed", removed), ("added", added)):
        shown = (CUT if at else "") + text[at : at + LONGEST_LINE]
        yield DiffLine(kind, shown + (CUT if len(text) > at + LONGEST_LINE else ""))


class ByUniqueItems(SequenceMatcher[Item]):
    """Matches lines, or other items, by the items that occur once in both (patience diff), in time
    n log n.

    The time of the standard matcher grows with the cube of the number of repeated items.
    """

    def __init__(self, old: Sequence[Item], new: Sequence[Item]) -> None:
        super().__init__(None, old, new)
        self._texts = old, new

    def get_matching_blocks(self) -> list[Match]:
        old, new = self._texts
        blocks: list[Match] = []
        old_at = new_at = 0
        for old_to, new_to in [*_anchor_lines(old, new), (len(old), len(new))]:
            if old_to < old_at or new_to < new_at:
                continue  # an earlier block contains this line
            blocks += _matches_in_gap(old[old_at:old_to], new[new_at:new_to], old_at, new_at)
            size = _count_equal_at_start(old[old_to:], new[new_to:])
            blocks.append(Match(old_to, new_to, size))
            old_at, new_at = old_to + size, new_to + size
        return [*_joined_blocks(blocks), Match(len(old), len(new), 0)]


def _anchor_lines(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[int, int]]:
    """The longest sequence of lines that are unique in both and in the same order."""
    old_times, new_times = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if new_times[line] == 1}
    # for each length, the place in `new` at which a chain of that length may end
    ends: list[int] = []
    # the places of a line in both texts, and the chain that it continues
    chains: list[tuple[int, int, int]] = []
    last: list[int] = []  # for each length, the chain that ends at that place
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


def _matches_in_gap(
    old: Sequence[Item], new: Sequence[Item], old_at: int, new_at: int
) -> list[Match]:
    """The lines that are equal at both ends of a gap, and within it if the gap is short."""
    head = _count_equal_at_start(old, new)
    tail = _count_equal_at_start(
        old[: head - 1 if head else None : -1], new[: head - 1 if head else None : -1]
    )
    inner_old, inner_new = old[head : len(old) - tail], new[head : len(new) - tail]
    middle: list[Match] = []
    if max(len(inner_old), len(inner_new)) <= MOST_EACH_WITH_EACH:
        middle = SequenceMatcher(None, inner_old, inner_new, False).get_matching_blocks()
    blocks = [Match(0, 0, head), *(Match(a + head, b + head, size) for a, b, size in middle)]
    blocks.append(Match(len(old) - tail, len(new) - tail, tail))
    return [Match(a + old_at, b + new_at, size) for a, b, size in blocks]


def _count_equal_at_start(old: Sequence[Item], new: Sequence[Item]) -> int:
    """The number of equal lines at the beginning."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))


def _joined_blocks(blocks: Iterable[Match]) -> Iterator[Match]:
    """The blocks that have lines; adjacent blocks are joined."""
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
