"""The effect of rendering on a run's pages, in one bounded row for each run that renders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crawling.frontier.types import UrlOutcome
from crawling.models import RunRendering
from crawling.orders.rendering import NO_TALLY, RenderingCounts
from crawling.web.statuses import RENDERINGS_ENDED

#: the most patterns of a run that are remembered
MOST_PATTERNS = 1000


class RunRenderings(NamedTuple):
    #: the pages that a browser was asked to render
    pages: int = 0
    #: by the key of a pattern
    tallies: Mapping[int, RenderingCounts] = {}
    #: by fetch status: how many pages were not rendered to the end
    ended: Mapping[str, int] = {}


def stored_renderings(run_id: int) -> RunRenderings:
    row = RunRendering.objects.filter(run=run_id).first()
    if row is None:
        return RunRenderings()
    tallies = {int(key): RenderingCounts(*counts) for key, counts in row.patterns.items()}
    return RunRenderings(row.pages, tallies, row.ended)


def store_renderings(run_id: int, outcomes: Sequence[UrlOutcome]) -> None:
    """Add the rendered pages of a batch. The caller holds the run's lock."""
    judged = [
        outcome.answer.rendered
        for outcome in outcomes
        if outcome.answer and outcome.answer.rendered
    ]
    rendered = [page for page in judged if page.is_asked]
    ended = Counter(str(page.verdict) for page in judged if page.verdict in RENDERINGS_ENDED)
    if not rendered and not ended:
        return
    pages, known, ended_before = stored_renderings(run_id)
    tallies = dict(known)
    for page in rendered:
        if page.has_gained is None or (
            page.pattern not in tallies and len(tallies) >= MOST_PATTERNS
        ):
            continue
        count, gained = tallies.get(page.pattern, NO_TALLY)
        tallies[page.pattern] = RenderingCounts(count + 1, gained + page.has_gained)
    RunRendering.objects.update_or_create(
        run_id=run_id,
        defaults={
            "pages": pages + len(rendered),
            "patterns": {str(key): list(tally) for key, tally in tallies.items()},
            "ended": ended + Counter(ended_before),
        },
    )
