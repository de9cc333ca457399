"""The problems of a run's links and pages, as lists and as files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from crawling.models import Run
from crawling.uses.link_check.certificate_problems import find_certificates
from crawling.uses.link_check.dataset_problems import find_broken, find_insecure, find_languages
from crawling.uses.link_check.fragment_problems import find_missing_fragments
from crawling.uses.link_check.link_sources import (
    LinkSource,
    each_source,
    each_source_of_hosts,
    first_sources,
    first_sources_of_hosts,
)
from crawling.uses.link_check.page_problems import (
    find_canonical,
    find_orphans,
    find_redirected,
    find_repeated,
    find_slow,
    find_unread,
)
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind
from crawling.uses.link_check.reading_problems import find_malformed, find_markup_errors

#: seconds of an answer
SLOW_SECONDS = 3.0
#: problems whose links are looked for together; the first are few, so that a file begins soon
AT_ONCE, FIRST_AT_ONCE = 5_000, 200
FINDERS: dict[ProblemKind, Callable[[Run, str, int], Found]] = {
    ProblemKind.BROKEN: find_broken,
    ProblemKind.REDIRECTED: find_redirected,
    ProblemKind.CERTIFICATE: find_certificates,
    ProblemKind.UNREAD: find_unread,
    ProblemKind.ORPHAN: find_orphans,
    ProblemKind.CANONICAL: find_canonical,
    ProblemKind.HREFLANG: find_languages,
    ProblemKind.FRAGMENT: find_missing_fragments,
    ProblemKind.MALFORMED: find_malformed,
    ProblemKind.HTML: find_markup_errors,
}


def list_problems(
    run: Run, kind: ProblemKind, *, slow_seconds: float = SLOW_SECONDS, after: str = "", most: int
) -> Found:
    """Problems of a kind with the first links to each; a page of them may be short.

    The second is the key behind which more follow. Raises BadOrder for what is no key, and
    LinkSearchTookTooLong.
    """
    found, following = _find(run, kind, after, most, slow_seconds)
    return with_sources(run, kind, found), following


def with_sources(run: Run, kind: ProblemKind, found: Sequence[LinkProblem]) -> list[LinkProblem]:
    """The same with the number of links to each, and the first of them. Raises
    LinkSearchTookTooLong.
    """
    if not kind.is_of_links:
        return list(found)
    of_those = first_sources_of_hosts if kind.is_of_hosts else first_sources
    sources = of_those(run, [problem.url for problem in found], kind.condition)
    return [
        replace(problem, links=links, sources=tuple(first))
        for problem in found
        for links, first in [sources.get(problem.url, (0, []))]
    ]


def _find(run: Run, kind: ProblemKind, after: str, most: int, slow_seconds: float) -> Found:
    if kind is ProblemKind.SLOW:
        return find_slow(run, after, most, slow_seconds)
    if kind in (ProblemKind.MIXED_CONTENT, ProblemKind.PLAIN_HTTP):
        return find_insecure(run, after, most, kind)
    if kind in (ProblemKind.TITLE, ProblemKind.DESCRIPTION):
        return find_repeated(run, after, most, kind)
    return FINDERS[kind](run, after, most)


def each_found(run: Run, kind: ProblemKind) -> Iterator[LinkProblem]:
    """All problems of a kind without the links to them. Raises LinkSearchTookTooLong."""
    after: str | None = ""
    while after is not None:
        found, after = _find(run, kind, after, AT_ONCE, SLOW_SECONDS)
        yield from found


def each_problem(
    run: Run, kind: ProblemKind, *, slow_seconds: float = SLOW_SECONDS
) -> Iterator[tuple[LinkProblem, LinkSource | None]]:
    """All problems of a kind, once for each link to them; without one where they are of a page, or
    no link leads to them.
    """
    after: str | None = ""
    most = FIRST_AT_ONCE
    while after is not None:
        found, after = _find(run, kind, after, most, slow_seconds)
        most = AT_ONCE
        linked: set[int] = set()
        if kind.is_of_links:
            urls = [problem.url for problem in found]
            all_sources = each_source_of_hosts if kind.is_of_hosts else each_source
            for number, source in all_sources(run, urls, kind.condition):
                linked.add(number)
                yield found[number], source
        for number, problem in enumerate(found):
            if number not in linked:
                yield problem, None


NO_SOURCE = dict.fromkeys(LinkSource.__dataclass_fields__, "")


def problem_rows(
    run: Run, kinds: Collection[ProblemKind], *, slow_seconds: float = SLOW_SECONDS
) -> Iterator[dict[str, Any]]:
    """The problems as rows of a table, by kinds. `page` is the one to be mended."""
    for kind in kinds:
        for problem, source in each_problem(run, kind, slow_seconds=slow_seconds):
            facts = {
                "kind": str(kind),
                "url": problem.url,
                "status": problem.status,
                "detail": problem.detail,
            }
            link = vars(source) if source else NO_SOURCE
            if not kind.is_of_links:
                link = {**link, "page": problem.url}
            yield {**facts, **link}
