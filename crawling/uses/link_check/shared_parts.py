"""The parts of a run's link report for readers without an account: problems by kind, and links to
correct, by page. Addresses are shown without user names and passwords.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crawling.dashboard.base.lags import marked_download, read_lag
from crawling.dashboard.run.shared_report import without_user
from crawling.datasets.lag import Derived
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.link_check.coverage import coverage_of
from crawling.uses.link_check.fixes import LinkFix, PageFixes, fix_rows, fixes_by_page
from crawling.uses.link_check.link_check import list_problems
from crawling.uses.link_check.problem_counts import counts_of
from crawling.uses.link_check.problem_kinds import LinkProblem, ProblemKind
from serving.downloads import Download, row_file

FIX_COLUMNS = tuple(LinkFix.__dataclass_fields__)
#: the number of problems that a shared page shows
PROBLEMS = 200


def shared_fix_facts(run: Run) -> dict[str, Any]:
    """Links to correct, by page, and a sentence on what is not known yet."""
    here: dict[str, Any] = {"lag": read_lag(run, Derived.TEXTS), "coverage": coverage_of(run)}
    try:
        pages, is_more = fixes_by_page(run)
    except LinkSearchTookTooLong as trouble:
        return here | {"trouble": str(trouble)}
    links = sum(len(one.fixes) for one in pages)
    return here | {"pages": pages, "is_more": is_more, "links": links}


def fixes_stem(run: Run) -> str:
    return f"crawl-{run.crawl_id}-run-{run.number}-to-fix"


def problem_counts(run: Run) -> Mapping[str, Any]:
    lag = read_lag(run, Derived.TEXTS)
    counts = counts_of(run)
    told = [(kind, counts.get(kind)) for kind in ProblemKind]
    return {
        "lag": lag,
        "coverage": coverage_of(run),
        "is_running": run.state not in ENDED_STATES,
        "is_counting": len(counts) < len(told),
        "problems": [(kind, count) for kind, count in told if count is None or count.problems],
        "kinds_without_problems": ", ".join(
            kind.label for kind, count in told if count and not count.problems
        ),
    }


def shared_fixes(run: Run, asked: str) -> Mapping[str, Any]:
    here = shared_fix_facts(run)
    if "trouble" in here:
        return here | {"trouble": "These links take too long to find; ask who sent the link."}
    pages = [
        PageFixes(without_user(one.page), [_fix_without_users(fix) for fix in one.fixes])
        for one in here["pages"]
    ]
    return here | {"pages": pages}


def _fix_without_users(fix: LinkFix) -> LinkFix:
    return LinkFix(**{name: without_user(text) for name, text in vars(fix).items()})


def shared_file(run: Run) -> Download:
    rows = ({name: without_user(text) for name, text in row.items()} for row in fix_rows(run))
    return marked_download(row_file(fixes_stem(run), "csv", rows, FIX_COLUMNS), run, Derived.TEXTS)


def problems_of_kind(run: Run, text: str) -> Mapping[str, Any] | None:
    if text not in list(ProblemKind):
        return None
    kind = ProblemKind(text)
    try:
        rows, is_more = shared_problems(run, kind)
    except LinkSearchTookTooLong:
        trouble = "These problems take too long to find; ask who sent the link."
        return {"kind": kind, "trouble": trouble}
    lag = read_lag(run, kind.derived)
    here = {"kind": kind, "rows": rows, "is_more": is_more, "lag": lag}
    return here | ({"coverage": coverage_of(run)} if kind is ProblemKind.BROKEN else {})


def shared_problems(run: Run, kind: ProblemKind) -> tuple[list[LinkProblem], bool]:
    """The first problems of a kind with the first links to each, and whether there are more.

    Raises LinkSearchTookTooLong.
    """
    found, following = list_problems(run, kind, most=PROBLEMS)
    return [_problem_without_users(problem) for problem in found], following is not None


def _problem_without_users(problem: LinkProblem) -> LinkProblem:
    sources = [replace(source, page=without_user(source.page)) for source in problem.sources]
    return replace(
        problem,
        url=without_user(problem.url),
        detail=without_user(problem.detail),
        chain=[without_user(url) for url in problem.chain],
        sources=sources,
    )
