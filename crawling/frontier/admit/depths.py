"""The depth of a URL is the length of the shortest path to it, whatever the order of visits. If a
page turns out to be nearer after its links were read, its targets are nearer, too, and URLs that a
depth limit excluded may be admitted.

For this purpose the links of pages are stored as fingerprints, but only in runs with a depth limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from crawling.frontier.admit.crawl_rules import filters_of_run, rules_key
from crawling.frontier.admit.credits import ranking_of
from crawling.frontier.admit.pattern_watch import PatternAdmission, admit_by_pattern
from crawling.frontier.admit.rediscovery import Rediscovery, update_known_urls
from crawling.frontier.admit.refusals import drop_verdicts, store_refusals
from crawling.frontier.admit.schedule import FIND_SEEN, MOST_ROWS, SeenUrl
from crawling.frontier.sql_rows import read_rows
from crawling.frontier.types import Candidate, Refusal, UrlOutcome
from crawling.models import Run, Verdict
from crawling.orders.scope.filters import Rule, UrlFilters
from crawling.web.addresses import canonical_address

#: the most pages whose targets are updated at a time, and the most targets that are in memory then
SLICE, MOST_TARGETS = 100, 100_000

#: another shift may have found a shorter path while the page was in hand
KEEP = """
INSERT INTO crawling_pagetargets (url_id, run_id, links, redirect, is_behind)
SELECT u.id, u.run_id, %(links)s::bigint[], %(redirect)s::bigint, u.depth < %(depth)s
FROM crawling_url u WHERE u.id = %(url)s
ON CONFLICT (url_id) DO UPDATE SET links = excluded.links, redirect = excluded.redirect,
    is_behind = excluded.is_behind
"""
TAKE_BEHIND = """
UPDATE crawling_pagetargets t SET is_behind = false FROM crawling_url u
WHERE u.id = t.url_id AND t.url_id IN (
    SELECT url_id FROM (
        SELECT url_id, sum(cardinality(links)) OVER (ORDER BY url_id) - cardinality(links) AS before
        FROM (
            SELECT url_id, links FROM crawling_pagetargets WHERE run_id = %s AND is_behind LIMIT %s
        ) nearer
    ) counted WHERE before < %s
)
RETURNING u.id, u.depth, u.redirects, t.links, t.redirect
"""


class TargetsRow(NamedTuple):
    """A page that is now nearer than its targets' depths assume, with their fingerprints."""

    id: int
    depth: int
    redirects: int
    links: list[int]
    redirect: int | None


class LinkPath(NamedTuple):
    """The shortest path to a URL that was just found."""

    depth: int
    via: int
    redirects: int


def store_targets(cursor: CursorWrapper, outcomes: Iterable[UrlOutcome]) -> None:
    """Store the targets of a batch's pages. The caller holds the run's lock."""
    rows = [
        {
            "url": outcome.url_id,
            "links": list(outcome.targets.links),
            "redirect": outcome.targets.redirect,
            "depth": outcome.targets.depth,
        }
        for outcome in outcomes
        if outcome.targets
    ]
    if rows:
        cursor.executemany(KEEP, rows)


def lower_depths_of_targets(
    cursor: CursorWrapper, run: Run, *, numbers: Sequence[int]
) -> PatternAdmission:
    """Lower the depths of the targets of pages whose depth fell, then those of the targets'
    targets, and so on.

    The loop ends, since depths only fall. The caller holds the run's lock. URLs that pass now are
    admitted together, so that their hosts are created in one order.
    """
    new = caught = 0
    filters = cache(lambda: filters_of_run(run.crawl, run))
    while True:
        cursor.execute(TAKE_BEHIND, [run.pk, SLICE, MOST_TARGETS])
        ways: dict[int, LinkPath] = {}
        for page in read_rows(cursor, TargetsRow):
            for mark in page.links:
                _keep_shorter_path(ways, mark, LinkPath(page.depth + 1, page.id, 0))
            if page.redirect is not None:
                onward = LinkPath(page.depth, page.id, page.redirects + 1)
                _keep_shorter_path(ways, page.redirect, onward)
        if not ways:
            return PatternAdmission(new, caught)
        let_in: list[Candidate] = []
        for some in _path_batches(ways):
            _lower_depths(cursor, run, some)
            let_in += _candidates_no_longer_too_deep(cursor, run, some, filters)
        if let_in:
            found = admit_by_pattern(cursor, run, let_in, numbers=numbers)
            new, caught = new + found.new, caught + found.caught


def _keep_shorter_path(ways: dict[int, LinkPath], mark: int, way: LinkPath) -> None:
    if way.depth < ways.setdefault(mark, way).depth:
        ways[mark] = way


def _path_batches(ways: dict[int, LinkPath]) -> Iterator[dict[int, LinkPath]]:
    """The paths in pieces, each for one statement."""
    marks = iter(ways)
    while some := {mark: ways[mark] for mark in islice(marks, MOST_ROWS)}:
        yield some


def _lower_depths(cursor: CursorWrapper, run: Run, ways: dict[int, LinkPath]) -> None:
    cursor.execute(FIND_SEEN, [run.pk, list(ways)])
    met = []
    for row in read_rows(cursor, SeenUrl):
        way = ways[row.fingerprint]
        candidate = Candidate(canonical_address(row.url), way.depth, way.via, way.redirects)
        met.append(Rediscovery(row.fingerprint, candidate, row.depth, row.state))
    update_known_urls(cursor, run.pk, ranking_of(run), met, {})


def _candidates_no_longer_too_deep(
    cursor: CursorWrapper,
    run: Run,
    ways: dict[int, LinkPath],
    filters: Callable[[], UrlFilters],
) -> list[Candidate]:
    """The URLs that were excluded only by their depth, and are no longer too deep."""
    kept_out = Verdict.objects.filter(run=run, rule=Rule.DEPTH, fingerprint__in=list(ways))
    near = [row for row in kept_out if ways[row.fingerprint].depth < row.depth]
    if not near:
        return []
    admitted: list[Candidate] = []
    refused: list[Refusal] = []
    for row in near:
        way, address = ways[row.fingerprint], canonical_address(row.url)
        ruling = filters().judge(address, depth=way.depth, hops=row.hops)
        if ruling.admits:
            admitted.append(Candidate(address, *way, hops=ruling.hops))
        else:
            told = (ruling.rule, ruling.sentence, way.depth, row.hops, way.via, row.links)
            refused.append(Refusal(row.url, *told))
    drop_verdicts(run.pk, near)
    store_refusals(cursor, run.pk, refused, revision=rules_key(run.crawl))
    return admitted
