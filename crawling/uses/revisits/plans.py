"""The rows of plans: which crawls need a plan, which rows are stored, and which are deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Value
from django.db.models.functions import Coalesce

from crawling.frontier.sql_rows import insert_rows
from crawling.models import CrawlJob, PlannedRevisit, RevisitPlan, Run, Withdrawal
from crawling.models.jobs import ENDED_STATES
from crawling.orders.scope.url_rules import UrlRule

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
ROWS_AT_A_TIME = 10_000


def crawls_to_plan() -> list[int]:
    """The ids of crawls with a budget of visits and a run that has ended since the latest plan."""
    ended = Run.objects.filter(
        crawl=OuterRef("pk"),
        state__in=ENDED_STATES,
        finished_at__gt=Coalesce(OuterRef("revisit_plan__ended_at"), Value(LONG_AGO)),
    )
    crawls = CrawlJob.objects.filter(Exists(ended), reuse__visits_a_day__gt=0)
    return list(crawls.order_by("pk").values_list("pk", flat=True))


def withdrawals_of(crawl_id: int) -> list[tuple[int, datetime | None]]:
    """The crawl's withdrawals with a time each. The list changes whenever pages are withdrawn or
    restored.
    """
    rows = Withdrawal.objects.filter(crawl=crawl_id).order_by("pk")
    return list(rows.values_list("pk", "undone_at"))


def store_plan(
    plan: RevisitPlan,
    rows: Iterator[dict[str, Any]],
    reuse: Mapping[str, Any],
    withdrawals: list[tuple[int, datetime | None]],
) -> bool:
    """Replace the stored plan. Return False without storing if the crawl was deleted, or if the
    order's `reuse` or `withdrawals` have changed since the pages were read.

    While the runs are locked, no page can be withdrawn before this is committed. A later withdrawal
    removes the rows.
    """
    with transaction.atomic():
        crawl = CrawlJob.objects.select_for_update(no_key=True).filter(pk=plan.crawl_id).first()
        if crawl is None or crawl.reuse != reuse:
            return False
        runs = Run.all_objects.filter(crawl=plan.crawl_id).order_by("pk")
        if not list(runs.select_for_update(no_key=True).values_list("pk", flat=True)):
            return False
        if withdrawals_of(plan.crawl_id) != withdrawals:
            return False
        PlannedRevisit.objects.filter(crawl=plan.crawl_id).delete()
        while some := list(islice(rows, ROWS_AT_A_TIME)):
            insert_rows(PlannedRevisit, some)
        values = {
            one.attname: getattr(plan, one.attname)
            for one in RevisitPlan._meta.concrete_fields
            if not one.primary_key
        }
        RevisitPlan.objects.update_or_create(crawl_id=plan.crawl_id, defaults=values)
    return True


def request_new_plan(crawl: CrawlJob) -> None:
    """Request a new plan of revisits that follows a crawl's edited order, in the transaction of the
    edit. The order may have no budget any more.
    """
    plan = RevisitPlan.objects.filter(crawl=crawl)
    if crawl.order.reuse.visits_a_day:
        plan.update(ended_at=None)
    else:
        plan.delete()
        PlannedRevisit.objects.filter(crawl=crawl).delete()


def delete_revisits_of_withdrawn(crawl: CrawlJob, rule: UrlRule) -> None:
    """Delete the plans for pages that a rule covers, in the transaction that withdraws the pages,
    and let the remaining pages be planned again.
    """
    rows = PlannedRevisit.objects.filter(crawl=crawl).values_list("pk", "url")
    gone = [pk for pk, url in rows.iterator() if rule.covers(url)]
    PlannedRevisit.objects.filter(pk__in=gone).delete()
    RevisitPlan.objects.filter(crawl=crawl).update(ended_at=None, hosts=[])
