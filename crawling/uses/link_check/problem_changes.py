"""Which problems a run has that another one had not, and which were mended."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice

from crawling.base.errors import BadOrder, CrawlError
from crawling.models import Run
from crawling.uses.link_check.link_check import each_found, with_sources
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind

#: of a kind and run
MOST_COMPARED = 20_000


class ProblemChange(StrEnum):
    """Between an earlier run and a later one."""

    NEW = "new"
    MENDED = "mended"


class TooManyProblems(CrawlError):
    """A run has more than 20,000 problems of this kind, too many to be compared; compare the files
    of both runs instead.
    """


def list_changed(
    old: Run, new: Run, kind: ProblemKind, change: ProblemChange, *, after: str = "", most: int
) -> Found:
    """Problems of a kind that only the new run has, or only the old one, by their addresses, with
    the first links to each. An address that the new run did not meet any more counts as mended.

    Reads all problems of the kind of both runs. Raises BadOrder for what is no key, TooManyProblems
    and LinkSearchTookTooLong.
    """
    has, lacks = (new, old) if change is ProblemChange.NEW else (old, new)
    known = {problem.url for problem in _all(lacks, kind)}
    changed = [problem for problem in _all(has, kind) if problem.url not in known]
    begin = _number(after)
    shown, end = changed[begin : begin + most], begin + most
    return with_sources(has, kind, shown), str(end) if len(changed) > end else None


def _all(run: Run, kind: ProblemKind) -> Iterator[LinkProblem]:
    yield from islice(found := each_found(run, kind), MOST_COMPARED)
    if next(found, None) is not None:
        raise TooManyProblems


def _number(after: str) -> int:
    if after and not after.isdecimal():
        raise BadOrder({"cursor": "It is no `next` of a page before."})
    return int(after or 0)
