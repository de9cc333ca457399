"""Links to be corrected, grouped by the page to edit, with the fault of each link and the remedy.
The list is for editors of the site, with or without an account.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Annotated, Any

from crawling.models import Run
from crawling.uses.link_check.link_check import problems_with_sources
from crawling.uses.link_check.link_sources import LinkSource
from crawling.uses.link_check.problem_kinds import LinkProblem, ProblemKind
from serving.listing.columns import Column

#: kinds of problems that are corrected on the linking pages, the worst kind first
KINDS = (ProblemKind.BROKEN, ProblemKind.FRAGMENT, ProblemKind.REDIRECTED)
#: the most links on a page; files have all links
MOST_SHOWN = 1_000
#: the most rows of a file that are sorted, and the most characters in them, since addresses may be
#: long; the rows of a longer file are in the order in which they were found
MOST_SORTED, MOST_CHARACTERS = 100_000, 32 * 1024 * 1024
FORBIDDEN, NOT_THERE = (401, 403, 407), (404, 410)


@dataclass(frozen=True)
class LinkFix:
    """A link, and the way to correct it."""

    page: Annotated[str, Column("URL of the page to be edited; empty: no page links to it")]
    text: Annotated[str, Column("of the link, or in place of its image")]
    element: str
    attribute: str
    place: str
    target: str
    problem: str
    todo: str
    new_target: Annotated[str, Column("where a permanent redirect leads; or empty")]


@dataclass(frozen=True)
class PageFixes:
    page: str
    fixes: Sequence[LinkFix]


def all_fixes(run: Run) -> Iterator[LinkFix]:
    """Links in the order in which they are found. Raises LinkSearchTookTooLong."""
    for kind in KINDS:
        for problem, source in problems_with_sources(run, kind):
            if kind is not ProblemKind.REDIRECTED or _is_outdated(problem, source):
                yield _fix_of(problem, source)


def _is_outdated(problem: LinkProblem, source: LinkSource | None) -> bool:
    """Whether a link on a page leads to a permanent redirect. Other redirects are accepted:
    visitors reach the target, and the address may become valid again.
    """
    return bool(problem.new_target) and source is not None and source.attribute != "location"


def fixes_by_page(run: Run) -> tuple[list[PageFixes], bool]:
    """The first links by page, and whether there are more. Raises LinkSearchTookTooLong."""
    found = all_fixes(run)
    some = sorted(islice(found, MOST_SHOWN), key=_sort_key)
    grouped = [PageFixes(page, list(fixes)) for page, fixes in groupby(some, lambda fix: fix.page)]
    return grouped, next(found, None) is not None


def fix_rows(run: Run) -> Iterator[dict[str, Any]]:
    """All links, grouped by page unless there are too many. Raises LinkSearchTookTooLong."""
    found, some, characters = all_fixes(run), list[LinkFix](), 0
    for fix in found:
        some.append(fix)
        characters += sum(map(len, vars(fix).values()))
        if len(some) > MOST_SORTED or characters > MOST_CHARACTERS:
            break
    else:
        some.sort(key=_sort_key)
    yield from map(vars, chain(some, found))


def _sort_key(fix: LinkFix) -> tuple[bool, str, str]:
    """The sort key. Addresses without a linking page come last."""
    return not fix.page, fix.page, fix.target


def _fix_of(problem: LinkProblem, source: LinkSource | None) -> LinkFix:
    page, text, element, attribute, place = (
        (source.page, source.anchor, source.element, source.attribute, source.place)
        if source
        else ("", "", "", "", "")
    )
    todo = _advice_for_fix(problem, source)
    told = (problem.url, problem.detail, todo, problem.new_target)
    return LinkFix(page, text, element, attribute, place, *told)


def _advice_for_fix(problem: LinkProblem, source: LinkSource | None) -> str:
    if source is None:
        return "No page links to it: check the start URLs and sitemaps."
    if source.attribute == "location":
        return "Change the redirect on the server."
    if problem.new_target:
        return f"Change the link to {problem.new_target}"
    if problem.kind is ProblemKind.FRAGMENT:
        return "Name an id that the page has, or link to the page without one."
    status = problem.status or 0
    if status in NOT_THERE:
        return "Change the link to a page that is there, or remove it."
    if status in FORBIDDEN:
        return "Visitors without a log-in may not see it: remove the link, or open the page."
    return "Try it in a browser; if it fails there, too, change the link or remove it."
