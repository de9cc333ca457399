"""Apply changed rules to the URLs of a run: exclude those that no longer pass, and queue those that
pass again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from crawling.frontier.admit.refusals import drop_verdicts
from crawling.frontier.admit.schedule import schedule_found_urls
from crawling.frontier.exclusion import exclude, readmit
from crawling.frontier.types import Candidate
from crawling.models import Run, Url, UrlState, Verdict
from crawling.scope.filters import Rule, Ruling, UrlFilters
from crawling.web.addresses import canonical_address
from crawling.web.statuses import FetchStatus

#: rows looked at in one transaction
BATCH = 2_000
LEAST = -(1 << 63)
#: an answer or a count decided these, so a change of the fields is all that can be known
COME_BACK_WITH = {
    FetchStatus.WRONG_TYPE: frozenset({"types"}),
    FetchStatus.TOO_LARGE: frozenset({"max_document_bytes"}),
    FetchStatus.HOST_BUDGET: frozenset({"host_max_pages", "host_max_bytes", "host_max_seconds"}),
    FetchStatus.DOMAIN_BUDGET: frozenset({"domain_max_pages"}),
}
#: counts decided these, and will again
COUNTED_RULES = (Rule.BUDGET, Rule.HOST_BUDGET, Rule.DOMAIN_BUDGET, Rule.CRAWL_HOSTS)
RULED = frozenset({FetchStatus.FILTERED, FetchStatus.BLOCKLISTED})


class RejudgedBatch(NamedTuple):
    """How many URLs a batch took out and brought back, and the fingerprint to go on behind; None:
    it was the last.
    """

    out: int
    back: int
    after: int | None


def status_of(ruling: Ruling) -> FetchStatus:
    """What becomes of a URL that a rule keeps out."""
    return FetchStatus.BLOCKLISTED if ruling.rule is Rule.BLOCKLIST else FetchStatus.FILTERED


def rejudge_urls(
    run: Run, filters: UrlFilters, changed: Collection[str], *, after: int
) -> RejudgedBatch:
    """Judge the next of the run's URLs again.

    The caller holds the run's lock. `changed`: fields of the order.
    """
    rows = list(Url.objects.filter(run=run, fingerprint__gt=after).order_by("fingerprint")[:BATCH])
    out: dict[FetchStatus, dict[int, str]] = {
        FetchStatus.FILTERED: {},
        FetchStatus.BLOCKLISTED: {},
    }
    back = []
    for row in rows:
        if row.state == UrlState.QUEUED:
            ruling = judge(row, filters)
            if not ruling.admits:
                out[status_of(ruling)][row.pk] = describe_ruling(ruling)
        elif row.state == UrlState.EXCLUDED and _comes_back(row, filters, changed):
            back.append(row.pk)
    gone = sum(exclude(run.pk, errors, status) for status, errors in out.items() if errors)
    return RejudgedBatch(gone, readmit(run.pk, back) if back else 0, _next(rows))


def rejudge_verdicts(
    run: Run, filters: UrlFilters, *, numbers: Sequence[int], after: int
) -> RejudgedBatch:
    """Admit URLs that were excluded and pass now. The caller holds the run's lock."""
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
    return RejudgedBatch(0, schedule_found_urls(run, found, numbers=numbers), _next(rows))


def judge(row: Url, filters: UrlFilters) -> Ruling:
    """The rules' verdict on a URL of the run."""
    return filters.judge(
        canonical_address(row.url),
        depth=row.depth,
        hops=max(0, row.hops - 1),
        is_seed=row.depth == 0,
    )


def describe_ruling(ruling: Ruling) -> str:
    """The rule that decided, in words."""
    return f"Rule {ruling.rule.number}, {ruling.rule.words}: {ruling.sentence}."


def _comes_back(row: Url, filters: UrlFilters, changed: Collection[str]) -> bool:
    if row.status in RULED:
        return judge(row, filters).admits
    return any(
        row.status == status and not fields.isdisjoint(changed)
        for status, fields in COME_BACK_WITH.items()
    )


def _next(rows: Sequence[Url] | Sequence[Verdict]) -> int | None:
    return rows[-1].fingerprint if len(rows) == BATCH else None
