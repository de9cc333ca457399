"""Change a crawl's Max and priority, even while it runs: first in the pool, which may refuse the
change, then in the order, which shifts read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allocation.errors import AllocationError, ClaimBelowHoldings, ProcessFinished
from allocation.services import ProcessLimits, change_process
from crawling.base.errors import BadOrder
from crawling.installation.pools import capacity_of, pool_of
from crawling.models import CrawlJob, RunProcess
from crawling.models.jobs import ENDED_STATES
from crawling.orders.claims import ARCHIVE_WRITERS, EDITABLE, claim_with_browsers, complete_claim
from crawling.orders.sections.rendering import RenderingPart
from crawling.runs.grants import share_limits

#: fields of an order that the pool stores for a run's processes
POOL_FIELDS = ("claim", "priority")


def check_max(
    crawl: CrawlJob, claim: Mapping[str, int], rendering: RenderingPart
) -> dict[str, int]:
    """The new Max for all classes. claim: the classes that change. rendering: as the order says
    after the edit.

    Raises BadOrder with a sentence for each class.
    """
    pool = pool_of(crawl)
    limits = share_limits(pool, crawl.team)
    capacity = capacity_of(pool)
    full, errors = complete_claim({**crawl.claim, **claim}, capacity, limits)
    full, browser_errors = claim_with_browsers(full, rendering, capacity, limits)
    errors |= browser_errors
    if (
        crawl.archive
        and not errors
        and crawl.claim.get(ARCHIVE_WRITERS)
        and not full[ARCHIVE_WRITERS]
    ):
        errors[f"claim.{ARCHIVE_WRITERS}"] = "must be 1 or more: answers are archived"
    latest = crawl.runs.first()
    if latest and latest.state not in ENDED_STATES:
        fixed = [
            key
            for key, units in full.items()
            if units != crawl.claim.get(key, 0) and key not in EDITABLE
        ]
        errors |= {
            f"claim.{key}": "cannot change before the run has ended; fetch_slots, dns_slots and "
            "those of browsers can"
            for key in fixed
        }
    if errors:
        raise BadOrder(errors)
    return full


def change_max_in_pool(crawl: CrawlJob, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Change Max and priority of the run's processes in the pool, if these fields of the order
    differ from the old ones. Either all processes are changed or none.

    A process that holds more than its new Max is left to its shift, which first releases units. A
    waiting start gets the turn of its new priority. Raises BadOrder with the pool's own sentence.
    """
    before, priority = old.get("claim", {}), new.get("priority", old.get("priority"))
    claim = {
        key: units for key, units in new.get("claim", {}).items() if units != before.get(key, 0)
    }
    ranks = (
        [ProcessLimits(priority=priority), ProcessLimits(priority=old.get("priority"))]
        if priority != old.get("priority")
        else []
    )
    if ranks:
        _change_all(crawl, "priority", *ranks)
    try:
        if claim:
            _change_all(
                crawl,
                "claim",
                ProcessLimits(claim),
                ProcessLimits({key: before.get(key, 0) for key in claim}),
            )
    except BadOrder:
        if ranks:
            _change_all(crawl, "priority", *reversed(ranks))
        raise


def _change_all(crawl: CrawlJob, field: str, new: ProcessLimits, old: ProcessLimits) -> None:
    done: list[int] = []
    live = RunProcess.objects.filter(run__crawl=crawl, bank_process__isnull=False).exclude(
        run__state__in=ENDED_STATES
    )
    for process in live.order_by("number").values_list("bank_process", flat=True):
        try:
            change_process(process=process, limits=new)
        except (ClaimBelowHoldings, ProcessFinished):
            continue
        except AllocationError as error:
            for other in done:
                change_process(process=other, limits=old)
            raise BadOrder({field: str(error)}) from error
        done.append(process)
