"""Problems of a kind, sorted by a column. For each page of the list all of them are read, so a kind
with very many problems cannot be sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from itertools import islice
from typing import Any

from crawling.base.errors import BadOrder, CrawlError
from crawling.models import Run
from crawling.uses.link_check.link_check import add_sources, all_problems
from crawling.uses.link_check.link_sources import link_counts, link_counts_of_hosts
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind

#: the most problems of a kind in a run that can be sorted
MOST_SORTED = 20_000


class ProblemSort(StrEnum):
    ADDRESS = "address"
    ADDRESS_FALLING = "-address"
    PROBLEM = "problem"
    PROBLEM_FALLING = "-problem"
    LINKS = "links"
    LINKS_FALLING = "-links"


class TooManyToSort(CrawlError):
    """A run has more than 20,000 problems of this kind, too many to be sorted; sort the file of
    this kind instead.
    """


def list_sorted_problems(
    run: Run, kind: ProblemKind, sort: ProblemSort, *, after: str = "", most: int
) -> Found:
    """Problems of a kind in this order (those with equal values by address), with the first links
    to each, and the number after which more follow.

    Raises BadOrder for an invalid number, TooManyToSort and LinkSearchTookTooLong.
    """
    if after and not (after.isascii() and after.isdigit() and len(after) < 9):
        raise BadOrder({"cursor": "It is no `next` of a page before."})
    found = list(islice(all_problems(run, kind), MOST_SORTED + 1))
    if len(found) > MOST_SORTED:
        raise TooManyToSort
    found.sort(key=lambda problem: problem.url)
    found.sort(key=_sort_key(run, kind, sort, found), reverse=sort.startswith("-"))
    begin = int(after or 0)
    end = begin + most
    shown = add_sources(run, kind, found[begin:end])
    return shown, str(end) if len(found) > end else None


def _sort_key(
    run: Run, kind: ProblemKind, sort: ProblemSort, found: list[LinkProblem]
) -> Callable[[LinkProblem], Any]:
    name = sort.lstrip("-")
    if name == ProblemSort.ADDRESS:
        return lambda problem: problem.url
    if name == ProblemSort.PROBLEM:
        return lambda problem: (problem.status or 0, problem.detail)
    if not kind.is_of_links:
        return lambda problem: 0
    count = link_counts_of_hosts if kind.is_of_hosts else link_counts
    counts = count(run, [problem.url for problem in found], kind.condition)
    return lambda problem: counts.get(problem.url, 0)
