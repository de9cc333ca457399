"""The report of a visit to the frontier, at its end and meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterable

from crawling.frontier.host_state import OutageChange
from crawling.frontier.released_hosts import (
    AskedHost,
    ReturnedHost,
    ReturnedVisit,
    count_requests,
)
from crawling.models import Shift
from crawling.work.pipeline.visit import Visit


def count_all_requests(shift: Shift, visits: Iterable[Visit]) -> None:
    """Count the visits' requests that are not counted yet."""
    now = time.monotonic()
    if asked := [one for visit in visits if (one := _uncounted(visit, now))]:
        count_requests(shift, asked)


def returned(visit: Visit, *, longer: bool) -> ReturnedVisit:
    """longer: a fetch may still be under way, so the host rests a whole delay from now."""
    now, clock = time.monotonic(), visit.clock
    host = ReturnedHost(
        visit.host.host_id,
        max(clock.host_free_at - now, clock.delay if longer else 0.0),
        clock.delay,
        clock.backoffs,
        visit.availability.has_answered and not visit.host.has_answered,
        clock.rest_reason,
    )
    return ReturnedVisit(
        visit.host.queue_id,
        host,
        asked=_uncounted(visit, now),
        own_rest=clock.free_at - now if clock.rests_alone else None,
        outage=_outage_change(visit),
        certificate_ends_at=visit.route.certificate_ends_at,
    )


def _uncounted(visit: Visit, now: float) -> AskedHost | None:
    clock = visit.clock
    if clock.budget.is_counted:
        return None
    clock.budget.is_counted = True  # before its count is read: a thread may be fetching
    rest = max(0.0, clock.host_free_at - now)
    return AskedHost(visit.host.host_id, clock.budget.spent, clock.delay, rest)


def _outage_change(visit: Visit) -> OutageChange | None:
    found = visit.availability
    if found.is_kept:
        return None
    return OutageChange(
        visit.host.queue_id,
        visit.host.name,
        found.outage,
        found.given_up is not None,
        dict(found.origins),
        visit.host.origin_outages.keys(),
    )
