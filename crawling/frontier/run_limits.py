"""The limits on a whole run, and what is left of them."""

from __future__ import annotations

from django.db import connection
from django.template.defaultfilters import filesizeformat
from django.utils import timezone

from crawling.models import Run, RunState, RunTotal, UrlState
from crawling.orders.scope.filters import Rule

#: rules by which a limit kept URLs out
BUDGETS = (Rule.BUDGET, Rule.HOST_BUDGET, Rule.DOMAIN_BUDGET)

#: of URLs in process; a shift gives its own back in the transaction that ends it
BY_SHIFTS_OF_RUN = """shift_id IN (
        SELECT s.id FROM crawling_shift s JOIN crawling_runprocess p ON p.id = s.process_id
        WHERE p.run_id = %(run)s AND s.ended_at IS NULL)"""
#: pages of a run that were fetched or are in process; these are read along their index
COUNT_HAD = f"""
WITH in_process AS MATERIALIZED (
    SELECT id FROM crawling_url WHERE state = '{UrlState.IN_PROCESS}' AND {BY_SHIFTS_OF_RUN}
)
SELECT coalesce((SELECT fetched FROM crawling_runtotal WHERE run_id = %(run)s), 0)
    + (SELECT count(*) FROM in_process)
"""  # noqa: S608  # a constant


def is_complete(run: Run) -> bool:
    """Whether it has found all that it could: a page that it does not know is linked no more."""
    return (
        run.state == RunState.FINISHED
        and not run.queues.filter(queued__gt=0).exists()
        and not run.verdict_counts.filter(rule__in=BUDGETS).exists()
    )


def pages_left(run: Run) -> int | None:
    """How many more pages the run may fetch, those in process counted as fetched; None without a
    limit.
    """
    if run.crawl.max_pages is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(COUNT_HAD, {"run": run.pk})
        (had,) = cursor.fetchone()
    return max(0, run.crawl.max_pages - int(had))


def limit_reached(run: Run) -> str:
    """The sentence of the hard limit that the run has reached, or nothing.

    That on pages is exact: no more are claimed than it leaves, and what is in process then comes to
    its end. The others may be passed by what is being fetched when they are reached."""
    crawl = run.crawl
    reached = _reached(run, crawl.max_pages, crawl.max_bytes, crawl.max_seconds)
    return f"The limit of {reached} is reached; the frontier holds more." if reached else ""


def soft_limit_reached(run: Run) -> str:
    """The part of a sentence that names the soft limit that the run has reached, or nothing."""
    reached = _reached(run, *run.crawl.order.budget.soft)
    return f"the soft limit of {reached} is reached" if reached else ""


def _reached(run: Run, pages: int | None, size: int | None, seconds: int | None) -> str:
    """The first of these limits that the run has reached, in words."""
    if pages is not None and _total(run, "fetched") >= pages:
        return f"{pages:,} pages"
    if size is not None and _total(run, "bytes") >= size:
        return filesizeformat(size)
    if (
        seconds is not None
        and run.started_at
        and (timezone.now() - run.started_at).total_seconds() >= seconds
    ):
        return f"{seconds:,} seconds"
    return ""


def _total(run: Run, column: str) -> int:
    return int(RunTotal.objects.filter(run=run).values_list(column, flat=True).first() or 0)
