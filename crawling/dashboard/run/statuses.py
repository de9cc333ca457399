"""What became of a run's URLs, by status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawling.models import Run, RunStatusCount, UrlState
from crawling.web.statuses import explain


@dataclass(frozen=True)
class StatusRow:
    """How many URLs ended so."""

    state: str
    status: int
    urls: int
    #: where the row begins on a bar of 100
    start: float
    #: its length on that bar
    width: float
    #: with one decimal, so rounded that the rows add up to 100.0
    percent: float

    @property
    def sentence(self) -> str:
        return explain(self.status)

    @property
    def kind(self) -> str:
        if self.state == UrlState.EXCLUDED:
            return "excluded"
        return f"{self.status // 100}xx" if self.status > 0 else "none"


def status_rows(run: Run) -> list[StatusRow]:
    """By status: HTTP's in order, then ours."""
    counts = list(
        RunStatusCount.objects.filter(run=run, urls__gt=0).values_list("state", "status", "urls")
    )
    counts.sort(key=lambda count: (count[1] < 0, abs(count[1])))
    total = sum(urls for _, _, urls in counts)
    rows, start = [], 0.0
    for (state, status, urls), tenths in zip(
        counts, shares([urls for *_, urls in counts], 1000), strict=True
    ):
        width = 100 * urls / total
        rows.append(StatusRow(state, status, urls, round(start, 3), round(width, 3), tenths / 10))
        start += width
    return rows


def shares(parts: Sequence[int], whole: int) -> list[int]:
    """`whole` units in proportion to the parts, by largest remainder; of equal remainders the first
    part's goes first.
    """
    total = sum(parts)
    rounded = [whole * part // total for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda place: -(whole * parts[place] % total))
    for place in by_remainder[: whole - sum(rounded)]:
        rounded[place] += 1
    return rounded
