"""Tell listeners of what lasts, once each time: a long wait at the bank, a bank that is not safe."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.db.models import Case, F, IntegerField, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
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

MINUTE = timedelta(minutes=1)
#: of its run's order, for a request; null: none are too many
ORDERED = "process__run_process__run__crawl__thresholds"
ALLOWED_MINUTES = Case(
    When(**{f"{ORDERED}__has_key": "wait_alert_minutes"}, then=Cast(KeyTextTransform("wait_alert_minutes", ORDERED), IntegerField())),
    default=Value(ThresholdsPart().wait_alert_minutes),
)


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
    """Runs that have waited for longer than their orders allow in silence, which are few of those that wait. Why is asked of those alone
    that are not known yet: it costs a look at the whole bank."""
    asked = Request.objects.filter(state=RequestState.WAITING, process__run_process__run__state__in=WORKING_STATES)
    late = asked.alias(allowed=ALLOWED_MINUTES).filter(created_at__lte=now - F("allowed") * Value(MINUTE)).order_by("created_at")
    overdue: dict[int, tuple[int, int]] = {}
    for run, process, since in late.values_list("process__run_process__run", "process", "created_at"):
        overdue.setdefault(run, (process, (now - since) // MINUTE))
    waits = waits_of([process for run, (process, _) in overdue.items() if _key(run) not in known])
    return [
        State(
            _key(run),
            f"It has waited for {minutes:,} minutes. {waits[process].reason}" if process in waits else "",
            partial(_tell_of_wait, run),
        )
        for run, (process, minutes) in overdue.items()
        if process in waits or _key(run) in known
    ]


def _key(run_id: int) -> str:
    return f"wait/{run_id}"


def _tell_of_wait(run_id: int, sentence: str) -> None:
    write(run_id, sentence, level=Level.WARNING)
    tell(Run.objects.select_related("crawl").get(pk=run_id), Event.WAITING, sentence)


def _unsafe_banks() -> list[State]:
    return [State(f"{alarm.kind}/{alarm.pool}", alarm.text, partial(tell_of_bank, alarm.pool, alarm.name)) for alarm in alarms()]
