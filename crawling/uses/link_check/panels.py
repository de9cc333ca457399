"""The tab of links, and what a shared report shows of the link check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crawling.dashboard.base.panels import Panel, Place, ReportPage, Tab
from crawling.dashboard.run.shared_report import without_user
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.uses.link_check.link_check import list_problems
from crawling.uses.link_check.problem_counts import counts_of
from crawling.uses.link_check.problem_kinds import LinkProblem, ProblemKind

#: that a shared page shows
PROBLEMS = 200


def _counts(run: Run) -> Mapping[str, Any] | None:
    """Of those kinds that are counted."""
    counts = list(counts_of(run).values())
    without = ", ".join(count.kind.label for count in counts if not count.problems)
    return {"problems": counts, "kinds_without_problems": without} if counts else None


def _problems(run: Run, text: str) -> Mapping[str, Any] | None:
    if text not in list(ProblemKind):
        return None
    kind = ProblemKind(text)
    try:
        rows, is_more = shared_problems(run, kind)
    except LinkSearchTookTooLong:
        trouble = "These problems take too long to find; ask who sent the link."
        return {"kind": kind, "trouble": trouble}
    return {"kind": kind, "rows": rows, "is_more": is_more}


def shared_problems(run: Run, kind: ProblemKind) -> tuple[list[LinkProblem], bool]:
    """The first problems of a kind with the first links to each, and whether there are more.

    Raises LinkSearchTookTooLong.
    """
    found, following = list_problems(run, kind, most=PROBLEMS)
    return [_shared(problem) for problem in found], following is not None


def _shared(problem: LinkProblem) -> LinkProblem:
    sources = [replace(source, page=without_user(source.page)) for source in problem.sources]
    return replace(
        problem,
        url=without_user(problem.url),
        detail=without_user(problem.detail),
        chain=[without_user(url) for url in problem.chain],
        sources=sources,
    )


TABS = (Tab("Links", "links", after="not-fetched"),)
PANELS = (Panel(Place.SHARED_REPORT, "link_check/_shared.html", _counts),)
SHARED_PAGES = (ReportPage("kind", "link_check/shared_problems.html", _problems),)
