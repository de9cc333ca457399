"""A batch in parts, so that none of them holds the run's lock for long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from crawling.frontier.types import UrlOutcome

#: links and refusals that are written in one transaction
MOST_LINKS = 5_000

Part = tuple[Sequence[UrlOutcome], Mapping[int, int]]


def in_parts(outcomes: Sequence[UrlOutcome], lengths: Mapping[int, int]) -> Iterator[Part]:
    """The outcomes in as many parts as their links need, each with what counts of the archive's
    files with it, by id: up to the first document of the next part. So each document before a
    committed length has its page, and no page has a document beyond it.
    """
    if sum(map(links_of, outcomes)) <= MOST_LINKS:
        yield outcomes, lengths
        return
    part: list[UrlOutcome] = []
    links = 0
    for outcome in sorted(outcomes, key=_place):
        if part and links + links_of(outcome) > MOST_LINKS:
            yield part, _lengths_before(_place(outcome), lengths)
            part, links = [], 0
        part.append(outcome)
        links += links_of(outcome)
    yield part, lengths


def links_of(outcome: UrlOutcome) -> int:
    return len(outcome.links) + len(outcome.refusals)


def _place(outcome: UrlOutcome) -> tuple[int, int]:
    """File and offset of its document; files are begun in the order of their ids."""
    place = outcome.captured.place if outcome.captured else None
    return (place.file_id, place.offset) if place else (0, 0)


def _lengths_before(place: tuple[int, int], lengths: Mapping[int, int]) -> dict[int, int]:
    file, offset = place
    before = {other: length for other, length in lengths.items() if other < file}
    return before | ({file: offset} if file in lengths else {})
