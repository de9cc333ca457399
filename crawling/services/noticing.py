"""Tell listeners of what lasts, once each time: a long wait at the bank, a bank that is not safe."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from allocation.alarms import alarms
from allocation.models import Request, RequestState
from allocation.selectors import waits_of
from crawling.logbook import write
from crawling.models import Level, Notice, Run
from crawling.models.jobs import WORKING_STATES
from crawling.rules.alerts import Event
from crawling.rules.sections.thresholds import ThresholdsPart
from crawling.services.telling import tell, tell_of_bank


class State(NamedTuple):
    """Something that lasts: what it is, its sentence, and how listeners are told."""

    key: str
    sentence: str
    tell: Callable[[str], None]


def notice_what_lasts() -> None:
    """Tell of what is new, and forget what has ended. Of two keepers that see it at once, one tells."""
    known = set(Notice.objects.values_list("key", flat=True))
    states = [*_long_waits(timezone.now(), known), *_unsafe_banks()]
    Notice.objects.filter(key__in=known - {state.key for state in states}).delete()
    for state in states:
        if state.key in known:
            continue
        with transaction.atomic():
            _, is_new = Notice.objects.get_or_create(key=state.key, defaults={"sentence": state.sentence})
            if is_new:
                state.tell(state.sentence)


def _long_waits(now: datetime, known: Collection[str]) -> list[State]:
    """Runs that have waited for longer than their orders allow in silence. Why is asked of those alone that are not known yet: it costs a
    look at the whole bank."""
    asked = Request.objects.filter(state=RequestState.WAITING, process__run_process__run__state__in=WORKING_STATES)
    waiting = asked.filter(created_at__lt=now - timedelta(minutes=1)).select_related("process__run_process__run__crawl")
    overdue: dict[int, tuple[Run, int, int]] = {}
    for request in waiting.order_by("created_at"):
        run = request.process.run_process.run
        allowed = ThresholdsPart(**run.crawl.thresholds).wait_alert_minutes
        minutes = int((now - request.created_at).total_seconds() // 60)
        if allowed is not None and minutes >= allowed:
            overdue.setdefault(run.pk, (run, request.process_id, minutes))
    waits = waits_of([process for run, process, _ in overdue.values() if _key(run) not in known])
    return [
        State(
            _key(run),
            f"It has waited for {minutes:,} minutes. {waits[process].reason}" if process in waits else "",
            partial(_tell_of_wait, run),
        )
        for run, process, minutes in overdue.values()
        if process in waits or _key(run) in known
    ]


def _key(run: Run) -> str:
    return f"wait/{run.pk}"


def _tell_of_wait(run: Run, sentence: str) -> None:
    write(run.pk, sentence, level=Level.WARNING)
    tell(run, Event.WAITING, sentence)


def _unsafe_banks() -> list[State]:
    return [State(f"{alarm.kind}/{alarm.pool}", alarm.text, partial(tell_of_bank, alarm.pool, alarm.name)) for alarm in alarms()]
