"""Giving hosts back with what a shift has found of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from crawling.frontier.host_state import OutageChange, keep_certificates, keep_outages
from crawling.frontier.leases import (
    AskedHost,
    ReturnedHost,
    count_requests,
    let_go,
    rest_queues,
)
from crawling.models import Shift


class ReturnedVisit(NamedTuple):
    """A visit that is over. None: there is nothing new to be stored."""

    queue_id: int
    host: ReturnedHost
    #: requests that are not counted yet
    asked: AskedHost | None
    #: seconds for which this run alone asks the host for nothing
    own_rest: float | None
    outage: OutageChange | None
    certificate_ends_at: datetime | None


def return_hosts(shift: Shift, visits: Sequence[ReturnedVisit]) -> None:
    """Store what was found, then let the hosts go: only the shift that leases a host may write its
    outages and certificates.
    """
    if asked := [visit.asked for visit in visits if visit.asked]:
        count_requests(shift, asked)
    if rests := {one.queue_id: one.own_rest for one in visits if one.own_rest is not None}:
        rest_queues(shift.process.run_id, rests)
    keep_outages(shift, [visit.outage for visit in visits if visit.outage])
    ends = {one.queue_id: one.certificate_ends_at for one in visits if one.certificate_ends_at}
    keep_certificates(shift, ends)
    let_go(shift, [visit.host for visit in visits])
