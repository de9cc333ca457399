"""The limits on what a run fetches from each host and from each registrable domain: what each queue
may still give, and the end of the queues that may give no more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.db import connection

from crawling.frontier.exclusion import exclude
from crawling.frontier.run_limits import BY_SHIFTS_OF_RUN
from crawling.frontier.sql_rows import read_rows
from crawling.models import Run, Url, UrlState
from crawling.orders.sections.budget import BudgetPart
from crawling.web.statuses import FetchStatus

#: what the URLs of a host end with whose limit, or that of whose domain, is reached
CLOSED = (FetchStatus.HOST_BUDGET, FetchStatus.DOMAIN_BUDGET)
#: URLs of a host that are excluded in one transaction; the others follow with the next claims
MOST_EXCLUDED = 5_000

#: whether a queue has reached one of its host's limits; a limit that is NULL is never reached
SPENT = """coalesce(
    q.pages >= %(pages)s OR q.bytes >= %(bytes)s
        OR q.began_at <= clock_timestamp() - make_interval(secs => %(seconds)s),
    false)"""

SPENT_HOSTS = f"""
SELECT h.name FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
WHERE q.run_id = %(run)s AND h.name = ANY(%(names)s) AND {SPENT}
"""  # noqa: S608  # constants

#: URLs in process are few, and are read along their index, by shift; by the index of the run's
#: URLs, which the planner would take before the table is analyzed, all of them were read
FIND_USES = f"""
WITH in_process AS MATERIALIZED (
    SELECT queue_id FROM crawling_url
    WHERE state = '{UrlState.IN_PROCESS}' AND {BY_SHIFTS_OF_RUN}
), held AS (
    SELECT queue_id, count(*) AS n FROM in_process GROUP BY queue_id
), of_domain AS (
    SELECT domain, sum(pages) AS pages FROM crawling_hostqueue
    WHERE %(is_by_domain)s AND run_id = %(run)s AND domain IN (
        SELECT domain FROM crawling_hostqueue WHERE id = ANY(%(queues)s) AND domain <> '')
    GROUP BY domain
), held_of_domain AS (
    SELECT q.domain, sum(held.n) AS n FROM held JOIN crawling_hostqueue q ON q.id = held.queue_id
    WHERE %(is_by_domain)s GROUP BY q.domain
)
SELECT q.id, h.name AS host, q.domain, q.queued, q.pages, q.bytes,
    coalesce(held.n, 0) AS held, {SPENT} AS is_spent,
    coalesce(of_domain.pages, 0)::bigint AS domain_pages,
    coalesce(held_of_domain.n, 0)::bigint AS domain_held
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
    LEFT JOIN held ON held.queue_id = q.id
    LEFT JOIN of_domain ON of_domain.domain = q.domain
    LEFT JOIN held_of_domain ON held_of_domain.domain = q.domain
WHERE q.id = ANY(%(queues)s)
"""  # noqa: S608  # constants


class QueueUse(NamedTuple):
    """The pages, bytes and requests of a queue's host and of its domain."""

    id: int
    host: str
    #: empty: a literal address has none
    domain: str
    #: URLs that wait
    queued: int
    pages: int
    bytes: int
    #: URLs in process
    held: int
    #: a limit of the host is reached
    is_spent: bool
    #: of all the domain's queues, where the crawl limits these
    domain_pages: int
    domain_held: int


def limits_hosts(budget: BudgetPart) -> bool:
    """Whether a queue may come to its end before it is empty."""
    return any(budget.host_max) or bool(budget.domain_max_pages)


def uses_of(run: Run, queues: Collection[int]) -> dict[int, QueueUse]:
    """The use of each of these queues of the run. It holds while the caller has the run's lock."""
    budget = run.crawl.order.budget
    values = {
        "run": run.pk,
        "queues": list(queues),
        "is_by_domain": bool(budget.domain_max_pages),
        **budget.host_max._asdict(),
    }
    with connection.cursor() as cursor:
        cursor.execute(FIND_USES, values)
        return {use.id: use for use in read_rows(cursor, QueueUse)}


def claimable(
    budget: BudgetPart, uses: Mapping[int, QueueUse], wanted: Mapping[int, int]
) -> dict[int, int]:
    """How many URLs each queue may give; one that is exhausted is left out.

    The limits on pages are exact: what is in process counts as had.
    """
    limits: dict[int, int] = {}
    #: pages of each domain that no queue has been given
    left: dict[str, int] = {}
    for queue, count in wanted.items():
        use = uses[queue]
        if _end_of(budget, use):
            continue
        if budget.host_max_pages:
            count = max(0, min(count, budget.host_max_pages - use.pages - use.held))
        if budget.domain_max_pages and use.domain:
            left.setdefault(
                use.domain, budget.domain_max_pages - use.domain_pages - use.domain_held
            )
            count = max(0, min(count, left[use.domain]))
            left[use.domain] -= count
        limits[queue] = count
    return limits


def close_exhausted_queues(run: Run, uses: Iterable[QueueUse]) -> None:
    """Exclude what waits in those queues that may give no more, some of it at a time.

    The caller holds the run's lock.
    """
    for use in uses:
        if end := _end_of(run.crawl.order.budget, use):
            status, had = end
            waiting = (
                Url.objects.filter(queue=use.id, state=UrlState.QUEUED)
                .order_by("lane", "rank", "pk")
                .values_list("pk", flat=True)
            )
            sentence = f"{status.sentence} ({had})"
            exclude(run.pk, dict.fromkeys(waiting[:MOST_EXCLUDED], sentence), status)


def _end_of(budget: BudgetPart, use: QueueUse) -> tuple[FetchStatus, str] | None:
    """The status of the URLs of an exhausted queue, and the limit that it has reached; None: it may
    give more.
    """
    if use.is_spent:
        return FetchStatus.HOST_BUDGET, f"{use.host}: {use.pages:,} pages, {use.bytes:,} bytes"
    if budget.domain_max_pages and use.domain and use.domain_pages >= budget.domain_max_pages:
        return FetchStatus.DOMAIN_BUDGET, f"{use.domain}: {use.domain_pages:,} pages"
    return None


def softly_spent_hosts(run: Run, names: Collection[str]) -> set[str]:
    """The hosts of these that have reached a soft limit of the run."""
    limits = run.crawl.order.budget.host_soft
    if not any(limits) or not names:
        return set()
    with connection.cursor() as cursor:
        values = {"run": run.pk, "names": list(names), **limits._asdict()}
        cursor.execute(SPENT_HOSTS, values)
        return {name for (name,) in cursor.fetchall()}
