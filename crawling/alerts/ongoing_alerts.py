"""Alert listeners of lasting states, once for each: a long wait for resources, an unsafe pool."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.db.models import (
    Case,
    CharField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    QuerySet,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from allocation.alarms import alarms
from allocation.models import Request, RequestState
from allocation.selectors import waits_of
from crawling.alerts.notify import notify_listeners, notify_of_bank
from crawling.alerts.wording import AlertEvent
from crawling.models import Level, Notice, Run
from crawling.models.jobs import WORKING_STATES
from crawling.orders.sections.thresholds import ThresholdsPart
from crawling.run_log import write

MINUTE = timedelta(minutes=1)
#: what keys of waits begin with; the number of the run follows
WAIT = "wait/"
#: alerts for waits in one round; the rest follow in the next
AT_A_TIME = 20
#: of its run's order, for a request; null: none are too many
ORDERED = "process__run_process__run__crawl__thresholds"
ALLOWED_MINUTES = Case(
    When(
        **{f"{ORDERED}__has_key": "wait_alert_minutes"},
        then=Cast(KeyTextTransform("wait_alert_minutes", ORDERED), IntegerField()),
    ),
    default=Value(ThresholdsPart().wait_alert_minutes),
)


class OngoingState(NamedTuple):
    """A lasting state: its key, its sentence, and its alert."""

    key: str
    sentence: str
    tell: Callable[[str], None]


def raise_ongoing_alerts() -> None:
    """Alert of new states and delete ended ones.

    Of two concurrent schedulers, one sends the alert.
    """
    late = _late(timezone.now())
    is_late = Exists(late.filter(key=OuterRef("key")))  # type: ignore[misc]  # annotated
    Notice.objects.filter(~is_late, key__startswith=WAIT).delete()
    known = set(Notice.objects.exclude(key__startswith=WAIT).values_list("key", flat=True))
    banks = _unsafe_banks()
    Notice.objects.filter(key__in=known - {state.key for state in banks}).delete()
    for state in [*_new_waits(late), *(bank for bank in banks if bank.key not in known)]:
        with transaction.atomic():
            _, is_new = Notice.objects.get_or_create(
                key=state.key, defaults={"sentence": state.sentence}
            )
            if is_new:
                state.tell(state.sentence)


def _late(now: datetime) -> QuerySet[Request]:
    """Waits that last for longer than orders allow in silence, with the `key` of their notices."""
    at_work = {"process__run_process__run__state__in": WORKING_STATES}
    asked = Request.objects.filter(state=RequestState.WAITING, **at_work)
    key = Concat(Value(WAIT), Cast("process__run_process__run", CharField()))
    return asked.annotate(key=key, allowed=ALLOWED_MINUTES).filter(
        created_at__lte=now - MINUTE,  # no order allows less: of who came just now it is not read
        created_at__lt=now - F("allowed") * Value(MINUTE),
    )


def _new_waits(late: QuerySet[Request]) -> list[OngoingState]:
    """Some of those without an alert so far, the longest first."""
    new = late.filter(~Exists(Notice.objects.filter(key=OuterRef("key")))).order_by("created_at")
    overdue: dict[int, tuple[int, int]] = {}
    rows = new.values_list("process__run_process__run", "process", "created_at")
    for run, process, since in rows[:AT_A_TIME]:
        overdue.setdefault(run, (process, (timezone.now() - since) // MINUTE))
    waits = waits_of([process for process, _ in overdue.values()])
    return [
        OngoingState(
            f"{WAIT}{run}",
            f"It has waited for {minutes:,} minutes. {waits[process].reason}",
            partial(_tell_of_wait, run),
        )
        for run, (process, minutes) in overdue.items()
        if process in waits
    ]


def _tell_of_wait(run_id: int, sentence: str) -> None:
    write(run_id, sentence, level=Level.WARNING)
    notify_listeners(
        Run.objects.select_related("crawl").get(pk=run_id), AlertEvent.WAITING, sentence
    )


def _unsafe_banks() -> list[OngoingState]:
    return [
        OngoingState(
            f"{alarm.kind}/{alarm.pool}",
            alarm.text,
            partial(notify_of_bank, alarm.pool, alarm.name),
        )
        for alarm in alarms()
    ]
