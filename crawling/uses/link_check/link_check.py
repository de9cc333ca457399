"""The problems of a run's links and pages: as lists, as files, and compared with another run.

A JUnit report, which CI servers read, has a suite for each kind, and a failed case for each
problem, under the page to be corrected. The suite of an incomplete kind says so in a property, and
has no passed case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any
from xml.sax.saxutils import quoteattr

from crawling.base.errors import BadOrder, CrawlError
from crawling.datasets.lag import Lag, lag_of
from crawling.datasets.parts import count_pages_behind
from crawling.models import Run
from crawling.uses.link_check.dataset_problems import find_broken, find_insecure, find_languages
from crawling.uses.link_check.link_sources import (
    LinkSource,
    first_sources,
    first_sources_of_hosts,
    stream_sources,
    stream_sources_of_hosts,
)
from crawling.uses.link_check.page_problems import (
    find_canonical,
    find_certificates,
    find_orphans,
    find_redirected,
    find_repeated,
    find_slow,
    find_unread,
)
from crawling.uses.link_check.problem_kinds import CONDITIONS, Found, LinkProblem, ProblemKind
from crawling.uses.link_check.reading_problems import (
    find_malformed,
    find_markup_errors,
    find_missing_fragments,
)
from crawling.uses.link_check.tried import untried_urls

#: the seconds from which an answer counts as slow
SLOW_SECONDS = 3.0
#: the number of problems whose links are looked up together; the first batch is small, so that a
#: file begins to load soon
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
#: the most problems of a kind that are compared for each run
MOST_COMPARED = 20_000
#: characters that XML 1.0 does not allow
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def list_problems(
    run: Run, kind: ProblemKind, *, slow_seconds: float = SLOW_SECONDS, after: str = "", most: int
) -> Found:
    """Problems of a kind with the first links to each. The list may be shorter than `most` although
    more follow.

    The second value is the key after which more follow. Raises BadOrder for an invalid key, and
    LinkSearchTookTooLong.
    """
    found, following = _find_problems(run, kind, after, most, slow_seconds)
    return add_sources(run, kind, found), following


def add_sources(run: Run, kind: ProblemKind, found: Sequence[LinkProblem]) -> list[LinkProblem]:
    """Add to each problem the number of links to it (None instead of 0 while links are missing) and
    the first of them. Raises LinkSearchTookTooLong.
    """
    if not kind.is_of_links:
        return list(found)
    of_those = first_sources_of_hosts if kind.is_of_hosts else first_sources
    sources = of_those(run, [problem.url for problem in found], kind.condition)
    is_counted = len(sources) == len(found) or not count_pages_behind(run)
    none: tuple[int | None, list[LinkSource]] = (0 if is_counted else None, [])
    return [
        replace(problem, links=links, sources=tuple(first))
        for problem in found
        for links, first in [sources.get(problem.url, none)]
    ]


def _find_problems(
    run: Run, kind: ProblemKind, after: str, most: int, slow_seconds: float
) -> Found:
    if kind is ProblemKind.SLOW:
        return find_slow(run, after, most, slow_seconds)
    if kind in (ProblemKind.MIXED_CONTENT, ProblemKind.PLAIN_HTTP):
        return find_insecure(run, after, most, kind)
    if kind in (ProblemKind.TITLE, ProblemKind.DESCRIPTION):
        return find_repeated(run, after, most, kind)
    return FINDERS[kind](run, after, most)


def all_problems(run: Run, kind: ProblemKind) -> Iterator[LinkProblem]:
    """All problems of a kind without the links to them. Raises LinkSearchTookTooLong."""
    after: str | None = ""
    while after is not None:
        found, after = _find_problems(run, kind, after, AT_ONCE, SLOW_SECONDS)
        yield from found


def problems_with_sources(
    run: Run, kind: ProblemKind, *, slow_seconds: float = SLOW_SECONDS
) -> Iterator[tuple[LinkProblem, LinkSource | None]]:
    """All problems of a kind, once for each link to them. A problem of a page, or of an address
    without links to it, occurs once, without a link.
    """
    after: str | None = ""
    most = FIRST_AT_ONCE
    while after is not None:
        found, after = _find_problems(run, kind, after, most, slow_seconds)
        most = AT_ONCE
        linked: set[int] = set()
        if kind.is_of_links:
            urls = [problem.url for problem in found]
            all_sources = stream_sources_of_hosts if kind.is_of_hosts else stream_sources
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
    """The problems as rows of a table, by kind. `page` is the page to be corrected."""
    for kind in kinds:
        for problem, source in problems_with_sources(run, kind, slow_seconds=slow_seconds):
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


class ProblemChange(StrEnum):
    """The difference between an earlier run and a later one."""

    NEW = "new"
    MENDED = "mended"


class TooManyProblems(CrawlError):
    """A run has more than 20,000 problems of this kind, too many to be compared; compare the files
    of both runs instead.
    """


def list_changed_problems(
    old: Run, new: Run, kind: ProblemKind, change: ProblemChange, *, after: str = "", most: int
) -> Found:
    """Problems of a kind that only the new run has, or only the old one, by their addresses, with
    the first links to each. Addresses that the other run did not try are left out.

    Reads all problems of the kind of both runs. Raises BadOrder for an invalid key, TooManyProblems
    and LinkSearchTookTooLong.
    """
    has, lacks = (new, old) if change is ProblemChange.NEW else (old, new)
    known = {problem.url for problem in _comparable_problems(lacks, kind)}
    changed = [problem for problem in _comparable_problems(has, kind) if problem.url not in known]
    if kind not in CONDITIONS:  # other kinds are identified by their linking pages
        unknown = untried_urls(has, lacks, {problem.url for problem in changed})
        changed = [problem for problem in changed if problem.url not in unknown]
    begin = _read_cursor(after)
    shown, end = changed[begin : begin + most], begin + most
    return add_sources(has, kind, shown), str(end) if len(changed) > end else None


def _comparable_problems(run: Run, kind: ProblemKind) -> Iterator[LinkProblem]:
    yield from islice(found := all_problems(run, kind), MOST_COMPARED)
    if next(found, None) is not None:
        raise TooManyProblems


def _read_cursor(after: str) -> int:
    if after and not after.isdecimal():
        raise BadOrder({"cursor": "It is no `next` of a page before."})
    return int(after or 0)


def incomplete_kinds(run: Run, kinds: Iterable[ProblemKind]) -> dict[str, Lag]:
    """The lags of the kinds that are not complete."""
    lags = {name: lag_of(run, name) for name in {kind.derived for kind in kinds}}
    return {kind: lag for kind in kinds if not (lag := lags[kind.derived]).complete}


def junit_lines(
    kinds: Iterable[str],
    rows: Iterable[Mapping[str, Any]],
    missing: Mapping[str, Lag] = MappingProxyType({}),
) -> Iterator[str]:
    """The lines of a JUnit report. rows: from `problem_rows`, by kind. A kind without problems has
    a passed case, or a skipped one if it is incomplete. missing: from `incomplete_kinds`.
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="link check">\n'
    by_kind, clean = groupby(rows, lambda row: row["kind"]), list(kinds)
    for kind, problems in by_kind:
        while clean and (first := clean.pop(0)) != kind:
            yield _suite_without_problems(first, missing.get(first))
        note = _incompleteness_note(missing.get(kind))
        yield f"<testsuite name={_quoted_attribute(kind)}>{note}\n"
        yield from map(_test_case, problems)
        yield "</testsuite>\n"
    yield from (_suite_without_problems(kind, missing.get(kind)) for kind in clean)
    yield "</testsuites>\n"


def _suite_without_problems(kind: str, lag: Lag | None) -> str:
    name = _quoted_attribute(kind)
    case = f'<testcase classname="all pages" name={name}'
    case += f"><skipped message={_quoted_attribute(lag.missing)}/></testcase>" if lag else "/>"
    return f"<testsuite name={name}>{_incompleteness_note(lag)}{case}</testsuite>\n"


def _incompleteness_note(lag: Lag | None) -> str:
    """The note about an incomplete kind; empty for a complete one."""
    if lag is None:
        return ""
    facts = {"complete": "false", "behind": str(lag.behind), "pages": str(lag.pages)}
    facts |= {"until": lag.until.isoformat()} if lag.until else {}
    told = (
        f"<property name={_quoted_attribute(name)} value={_quoted_attribute(facts[name])}/>"
        for name in facts
    )
    return f"<properties>{''.join(told)}</properties>"


def _test_case(row: Mapping[str, Any]) -> str:
    page = _quoted_attribute(row["page"] or row["url"])
    anchor = row["anchor"] and f"“{row['anchor']}”"
    name = _quoted_attribute(" ".join(filter(None, (row["url"], anchor))))
    kind, message = _quoted_attribute(row["kind"]), _quoted_attribute(row["detail"])
    failure = f"<failure type={kind} message={message}/>"
    return f"<testcase classname={page} name={name}>{failure}</testcase>\n"


def _quoted_attribute(text: str) -> str:
    return quoteattr(NO_XML.sub("\ufffd", text))
