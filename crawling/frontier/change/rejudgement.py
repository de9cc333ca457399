"""Apply changed rules to the URLs of a run: exclude URLs that no longer pass, queue URLs that pass
again, and draw a sample of the waiting URLs. Rank the waiting URLs again after the weights were
edited.

All of this is done batch by batch, so that fetching goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db import connection

from crawling.frontier.admit.credits import ranking_of
from crawling.frontier.admit.pattern_watch import admit_by_pattern
from crawling.frontier.admit.refusals import drop_verdicts
from crawling.frontier.exclusion import exclude_urls, readmit_urls
from crawling.frontier.run_counts import FetchCounts, add_counts
from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.frontier.types import Candidate
from crawling.models import Reranking, Run, Url, UrlState, Verdict
from crawling.orders.scope.filters import Rule, Ruling, UrlFilters
from crawling.web.addresses import canonical_address
from crawling.web.statuses import FetchStatus

#: the number of rows judged in one transaction
BATCH = 2_000
LEAST = -(1 << 63)
#: an answer or a count excluded these URLs, so only an edit of these fields can admit them
COME_BACK_WITH = {
    FetchStatus.WRONG_TYPE: frozenset({"types"}),
    FetchStatus.TOO_LARGE: frozenset({"max_document_bytes"}),
    FetchStatus.HOST_BUDGET: frozenset({"host_max_pages", "host_max_bytes", "host_max_seconds"}),
    FetchStatus.DOMAIN_BUDGET: frozenset({"domain_max_pages"}),
}
#: counts decided these, and would decide them again
COUNTED_RULES = (Rule.BUDGET, Rule.HOST_BUDGET, Rule.DOMAIN_BUDGET, Rule.CRAWL_HOSTS)
RULED = frozenset({FetchStatus.FILTERED, FetchStatus.BLOCKLISTED})
#: the number of rows ranked in one transaction
RANKED_BATCH = 5_000
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class RankedUrl(NamedTuple):
    id: int
    url: str
    depth: int
    #: the number of pages that link to it
    links: int
    fingerprint: int
    is_unfinished: bool


#: in the order of the only index that has all of a run's URLs and never changes, so that even the
#: time for skipping done rows is bounded
SOME_RANKED = f"""
SELECT id, url, depth, coalesce(backlinks, 0) AS links, fingerprint,
    state IN ('{UrlState.QUEUED}', '{UrlState.IN_PROCESS}', '{UrlState.QUARANTINED}')
        AS is_unfinished
FROM crawling_url
WHERE run_id = %s AND fingerprint >= %s ORDER BY fingerprint LIMIT %s
"""  # noqa: S608 - the states are constants


class NewRank(NamedTuple):
    id: int
    rank: float


NEW_RANKS = SentRows("new", NewRank)
RANK = f"""
UPDATE crawling_url u SET rank = new.rank
FROM {NEW_RANKS} WHERE u.id = new.id AND u.rank <> new.rank
"""  # noqa: S608  # constants
#: the most URLs of a sample, which takes half a second of processor time to read and judge
MOST_SAMPLED = 10_000
#: the most rows that are read in search of waiting URLs, if a run has few
MOST_READ = 100_000

#: Fingerprints are hashes of addresses, so their order is independent of hosts, depths and the form
#: of addresses. The first fingerprints are thus a sample, and always the same one, so that an
#: operator who tries expressions sees only the effects of the expressions.
SAMPLE = f"""
SELECT id, queue_id, url, depth, hops, nesting
FROM (SELECT * FROM crawling_url WHERE run_id = %s ORDER BY fingerprint LIMIT %s) AS u
WHERE u.state = '{UrlState.QUEUED}' LIMIT %s
"""  # noqa: S608 - the states are constants

ALL_WAITING = f"""
SELECT u.id, u.queue_id, u.url, u.depth, u.hops, u.nesting FROM crawling_hostqueue q
JOIN crawling_url u ON u.queue_id = q.id
    AND u.state = '{UrlState.QUEUED}'
WHERE q.run_id = %s AND q.queued > 0 LIMIT %s
"""  # noqa: S608 - the states are constants


class RejudgedBatch(NamedTuple):
    """The numbers of URLs that a batch excluded and queued again, and the fingerprint after which
    to continue; None after the last batch.
    """

    out: int
    back: int
    after: int | None


def rejudge_urls(
    run: Run, filters: UrlFilters, changed: Collection[str], *, after: int
) -> RejudgedBatch:
    """Judge the next of the run's URLs again.

    The caller holds the run's lock. changed: the edited fields of the order.
    """
    rows = list(Url.objects.filter(run=run, fingerprint__gt=after).order_by("fingerprint")[:BATCH])
    out: dict[FetchStatus, dict[int, str]] = {
        FetchStatus.FILTERED: {},
        FetchStatus.BLOCKLISTED: {},
    }
    back = []
    for row in rows:
        if row.state == UrlState.QUEUED:
            ruling = ruling_of_row(row, filters)
            if not ruling.admits:
                out[ruling.refusal_status][row.pk] = ruling.explanation
        elif row.state == UrlState.EXCLUDED and _is_admitted_again(row, filters, changed):
            back.append(row.pk)
    gone = sum(exclude_urls(run.pk, errors, status) for status, errors in out.items() if errors)
    return RejudgedBatch(gone, readmit_urls(run.pk, back) if back else 0, _next_fingerprint(rows))


def rejudge_verdicts(
    run: Run, filters: UrlFilters, *, numbers: Sequence[int], after: int
) -> RejudgedBatch:
    """Admit URLs that were excluded and that pass now. The caller holds the run's lock."""
    rows = list(
        Verdict.objects.filter(run=run, fingerprint__gt=after).order_by("fingerprint")[:BATCH]
    )
    found = []
    passing = []
    for row in rows:
        address = canonical_address(row.url)
        ruling = filters.judge(address, depth=row.depth, hops=row.hops)
        if ruling.admits and row.rule not in COUNTED_RULES:
            found.append(Candidate(address, row.depth, row.via, hops=ruling.hops))
            passing.append(row)
    if passing:
        drop_verdicts(run.pk, passing)
    with connection.cursor() as cursor:
        admitted = admit_by_pattern(cursor, run, found, numbers=numbers)
        counts = FetchCounts(discovered=admitted.new, quarantined=admitted.caught)
        add_counts(cursor, run.pk, counts)
    return RejudgedBatch(0, admitted.new - admitted.caught, _next_fingerprint(rows))


def ruling_of_row(row: Url, filters: UrlFilters) -> Ruling:
    return filters.judge(
        canonical_address(row.url),
        depth=row.depth,
        hops=max(0, row.hops - 1),
        is_seed=row.depth == 0,
        is_map=row.nesting > 0,
    )


def _is_admitted_again(row: Url, filters: UrlFilters, changed: Collection[str]) -> bool:
    if row.status in RULED:
        return ruling_of_row(row, filters).admits
    return any(
        row.status == status and not fields.isdisjoint(changed)
        for status, fields in COME_BACK_WITH.items()
    )


def _next_fingerprint(rows: Sequence[Url] | Sequence[Verdict]) -> int | None:
    return rows[-1].fingerprint if len(rows) == BATCH else None


def begin_reranking(run_id: int) -> None:
    """Let all waiting URLs be ranked again by the weights that the caller's transaction writes.
    URLs that are queued later use these weights already.

    The caller holds the run's lock.
    """
    Reranking.objects.update_or_create(run_id=run_id, defaults={"fingerprint": LOWEST})


def rank_next_batch(run_id: int) -> bool:
    """Rank the next batch. Return whether more are left."""
    with locked_run(run_id) as run, connection.cursor() as cursor:
        place = Reranking.objects.filter(run=run).first()
        if place is None:
            return False
        cursor.execute(SOME_RANKED, [run_id, place.fingerprint, RANKED_BATCH])
        rows = read_rows(cursor, RankedUrl)
        ranking = ranking_of(run)
        ranks = NEW_RANKS.values(
            NewRank(row.id, ranking.rank(row.url, row.depth, row.links))
            for row in rows
            if row.is_unfinished
        )
        cursor.execute(RANK, ranks)
        if len(rows) < RANKED_BATCH or rows[-1].fingerprint == HIGHEST:
            place.delete()
            return False
        place.fingerprint = rows[-1].fingerprint + 1
        place.save()
    return True


def sample_of_waiting(run: Run, waiting: int, *, most: int) -> tuple[list[Url], int]:
    """A sample of the waiting URLs, and the number of URLs that it represents; all URLs if there
    are `most` or fewer. waiting: their number by the counts of the queues.
    """
    if waiting <= most:
        urls = list(Url.objects.raw(ALL_WAITING, [run.pk, most]))
        return urls, len(urls)
    return list(Url.objects.raw(SAMPLE, [run.pk, MOST_READ, most])), waiting
