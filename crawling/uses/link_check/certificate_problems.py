"""Certificates of a run's hosts that end soon, with the links to these hosts."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.models import HostQueue, Run
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind

#: ACME clients renew a certificate of 90 days when a third of them is left
SOON = timedelta(days=30)


def find_certificates(run: Run, after: str, most: int) -> Found:
    """The first to end first; what has ended since the run is among them."""
    now = timezone.now()
    queues = HostQueue.objects.filter(run=run, certificate_ends_at__lt=now + SOON)
    if after:
        ends_at, pk = _read_key(after)
        same = Q(certificate_ends_at=ends_at, pk__gt=pk)
        queues = queues.filter(Q(certificate_ends_at__gt=ends_at) | same)
    rows = queues.order_by("certificate_ends_at", "pk").values_list(
        "certificate_ends_at", "pk", "host__name"
    )
    found = list(rows[: most + 1])
    problems = [
        LinkProblem(ProblemKind.CERTIFICATE, f"https://{host}/", _told(ends_at, now))
        for ends_at, _, host in found[:most]
        if ends_at
    ]
    if len(found) <= most or not (last := found[most - 1])[0]:
        return problems, None
    return problems, f"{last[0].isoformat()} {last[1]}"


def _told(ends_at: datetime, now: datetime) -> str:
    day, days = f"{ends_at:%Y-%m-%d}", (ends_at - now).days
    if ends_at <= now:
        return f"Its certificate ended on {day}, unless it was renewed since."
    return f"Its certificate ends on {day}, in {days} day{'' if days == 1 else 's'}."


def _read_key(after: str) -> tuple[datetime, int]:
    moment, _, pk = after.partition(" ")
    try:
        return datetime.fromisoformat(moment), int(pk)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
