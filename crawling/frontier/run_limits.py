"""The limits on a run, on its hosts and on its registrable domains, and the part of them that is
left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from crawling.frontier.exclusion import exclude_urls
from crawling.frontier.run_counts import FetchCounts
from crawling.frontier.sql_rows import read_rows
from crawling.models import Run, RunState, RunTotal, Url, UrlState
from crawling.orders.scope.filters import Rule
from crawling.orders.sections.budget import BudgetPart
from crawling.web.statuses import FetchStatus

#: rules by which a limit excludes URLs
BUDGETS = (Rule.BUDGET, Rule.HOST_BUDGET, Rule.DOMAIN_BUDGET)

#: the URLs in process of a run; a shift puts its URLs back in the transaction that ends it
BY_SHIFTS_OF_RUN = """shift_id IN (
        SELECT s.id FROM crawling_shift s JOIN crawling_runprocess p ON p.id = s.process_id
        WHERE p.run_id = %(run)s AND s.ended_at IS NULL)"""
#: files that a run may fetch for each page of its limit, if it fetches the files that pages load:
#: those do not count as pages. The run ends once it has so many, since no URL shows before it is
#: fetched whether it is a file
FILES_A_PAGE = 20
#: answers of a run, files among them, and URLs in process; these are read along their index
COUNT_HAD = f"""
WITH in_process AS MATERIALIZED (
    SELECT id FROM crawling_url WHERE state = '{UrlState.IN_PROCESS}' AND {BY_SHIFTS_OF_RUN}
)
SELECT coalesce((SELECT fetched FROM crawling_runtotal WHERE run_id = %(run)s), 0),
    coalesce((SELECT files FROM crawling_runtotal WHERE run_id = %(run)s), 0),
    (SELECT count(*) FROM in_process)
"""  # noqa: S608  # a constant


def is_complete(run: Run) -> bool:
    """Whether the run has all URLs that it could find: no page links to an unknown URL any more."""
    return (
        run.state == RunState.FINISHED
        and not run.queues.filter(queued__gt=0).exists()
        and not run.verdict_counts.filter(rule__in=BUDGETS).exists()
    )


def pages_left(run: Run) -> int | None:
    """How many more URLs the run may fetch, with those in process counted as pages; None without a
    limit.
    """
    most = run.crawl.max_pages
    if most is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(COUNT_HAD, {"run": run.pk})
        fetched, files, in_process = map(int, cursor.fetchone())
    if not run.crawl.requisites:
        return max(0, most - fetched - in_process)
    if files >= FILES_A_PAGE * most:
        return 0
    return max(0, most - (fetched - files) - in_process)


class ReachedLimit(NamedTuple):
    #: the field of the order
    field: str
    #: the limit in words
    words: str
    #: what the run has of it, in the unit of the field; for files, the limit of pages
    reached: int


def limit_reached(run: Run) -> str:
    """A sentence with the hard limit that the run has reached, or "".

    The limit on pages is exact: no more URLs are claimed than it allows, and URLs in process then
    finish. Fetches under way may exceed the other limits.
    """
    reached = reached_limit(run)
    return f"The limit of {reached.words} is reached; more URLs are queued." if reached else ""


def reached_limit(run: Run, counts: FetchCounts | None = None) -> ReachedLimit | None:
    """The first hard limit that the run has reached. counts: if the caller has read them."""
    crawl = run.crawl
    return _first_reached_limit(run, crawl.max_pages, crawl.max_bytes, crawl.max_seconds, counts)


def soft_limit_reached(run: Run) -> str:
    """The part of a sentence that names the soft limit that the run has reached, or ""."""
    reached = _first_reached_limit(run, *run.crawl.order.budget.soft)
    return f"the soft limit of {reached.words} is reached" if reached else ""


def _first_reached_limit(
    run: Run,
    pages: int | None,
    size: int | None,
    seconds: int | None,
    counts: FetchCounts | None = None,
) -> ReachedLimit | None:
    def total_of(column: str) -> int:
        return getattr(counts, column) if counts else _run_total(run, column)

    if pages is not None:
        files = total_of("files") if run.crawl.requisites else 0
        fetched = total_of("fetched") - files
        if fetched >= pages:
            return ReachedLimit("max_pages", f"{pages:,} pages", fetched)
        if files >= FILES_A_PAGE * pages:
            each = f"{FILES_A_PAGE} for each of {pages:,} pages"
            words = f"{FILES_A_PAGE * pages:,} files that pages load ({each})"
            return ReachedLimit("max_pages", words, pages)
    if size is not None and (received := total_of("bytes")) >= size:
        return ReachedLimit("max_bytes", filesizeformat(size), received)
    if seconds is not None and run.started_at:
        spent = (timezone.now() - run.started_at).total_seconds()
        if spent >= seconds:
            return ReachedLimit("max_seconds", f"{seconds:,} seconds", round(spent))
    return None


def _run_total(run: Run, column: str) -> int:
    return int(RunTotal.objects.filter(run=run).values_list(column, flat=True).first() or 0)


#: the statuses of URLs whose host, or its domain, has reached its limit
CLOSED = (FetchStatus.HOST_BUDGET, FetchStatus.DOMAIN_BUDGET)
#: the most URLs of a host that are excluded in one transaction; the others follow with the next
#: claims
MOST_EXCLUDED = 5_000

#: whether a queue has reached one of its host's limits; a limit of NULL is never reached
SPENT = """coalesce(
    q.pages >= %(pages)s OR q.bytes >= %(bytes)s
        OR q.began_at <= clock_timestamp() - make_interval(secs => %(seconds)s),
    false)"""

SPENT_HOSTS = f"""
SELECT h.name FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
WHERE q.run_id = %(run)s AND h.name = ANY(%(names)s) AND {SPENT}
"""  # noqa: S608  # constants

#: URLs in process are few, and are read along their index, by shift. The planner would use the
#: index of the run's URLs before the table is analyzed, and read all of them
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
    #: empty for an IP address
    domain: str
    #: URLs that wait
    queued: int
    pages: int
    bytes: int
    #: the number of URLs in process
    held: int
    #: whether a limit of the host is reached
    is_spent: bool
    #: the pages of all the domain's queues, if the crawl limits them
    domain_pages: int
    domain_held: int


def has_host_limits(budget: BudgetPart) -> bool:
    """Whether a limit may close a queue before it is empty."""
    return any(budget.host_max) or bool(budget.domain_max_pages)


def queue_uses(run: Run, queues: Collection[int]) -> dict[int, QueueUse]:
    """The use of each of these queues of the run. The result stays true while the caller has the
    run's lock.
    """
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


def claimable_urls(
    budget: BudgetPart, uses: Mapping[int, QueueUse], wanted: Mapping[int, int]
) -> dict[int, int]:
    """The number of URLs that each queue may give. Exhausted queues are left out.

    The limits on pages are exact: URLs in process count as fetched.
    """
    limits: dict[int, int] = {}
    #: the number of pages of each domain that no queue has been given yet
    left: dict[str, int] = {}
    for queue, count in wanted.items():
        use = uses[queue]
        if _exhaustion_of(budget, use):
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
    """Exclude the waiting URLs of exhausted queues, some at a time.

    The caller holds the run's lock.
    """
    for use in uses:
        if end := _exhaustion_of(run.crawl.order.budget, use):
            status, had = end
            waiting = (
                Url.objects.filter(queue=use.id, state=UrlState.QUEUED)
                .order_by("lane", "rank", "pk")
                .values_list("pk", flat=True)
            )
            sentence = f"{status.sentence} ({had})"
            exclude_urls(run.pk, dict.fromkeys(waiting[:MOST_EXCLUDED], sentence), status)


def _exhaustion_of(budget: BudgetPart, use: QueueUse) -> tuple[FetchStatus, str] | None:
    """The status for the URLs of an exhausted queue, and the limit that it has reached. None if the
    queue may give more.
    """
    if use.is_spent:
        return FetchStatus.HOST_BUDGET, f"{use.host}: {use.pages:,} pages, {use.bytes:,} bytes"
    if budget.domain_max_pages and use.domain and use.domain_pages >= budget.domain_max_pages:
        return FetchStatus.DOMAIN_BUDGET, f"{use.domain}: {use.domain_pages:,} pages"
    return None


def hosts_at_soft_limit(run: Run, names: Collection[str]) -> set[str]:
    """The hosts among `names` that have reached a soft limit of the run."""
    limits = run.crawl.order.budget.host_soft
    if not any(limits) or not names:
        return set()
    with connection.cursor() as cursor:
        values = {"run": run.pk, "names": list(names), **limits._asdict()}
        cursor.execute(SPENT_HOSTS, values)
        return {name for (name,) in cursor.fetchall()}
