"""Notify listeners of events, and once of each lasting state: a long wait for resources, an unsafe
pool.

Deliveries are written in the event's own transaction, so that no alert is sent for an event that
was rolled back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import (
    Case,
    CharField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Concat, Substr
from django.utils import timezone

from allocation.alarms import alarms
from allocation.models import Pool, Request, RequestState
from allocation.selectors import waits_of
from crawling.base.alert_events import AlertEvent
from crawling.installation.events import alert
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Level, Run
from crawling.models.jobs import WORKING_STATES
from crawling.orders.sections.thresholds import ThresholdsPart
from crawling.uses.alerts.models import Delivery, Listener, Notice
from crawling.uses.alerts.wording import MAILTO, TEST_EVENT

#: addresses are written out, since `reverse` would load all views of the site. Loading takes a
#: second of processor time, and more on a busy machine: too long for the transaction of a start,
#: which holds the run's lock
CRAWL_PAGE, POOL_PAGE, LISTENER_PAGE = "/crawls/{}/", "/resources/{}/", "/alerts/{}/"
OF_PAGES = (
    *(AlertEvent.PAGE_CHANGED, AlertEvent.PAGE_GONE, AlertEvent.PAGE_NEW),
    *(AlertEvent.LINKS_BROKEN, AlertEvent.LINKS_FIXED),
)
MINUTE = timedelta(minutes=1)
#: the prefix of the keys of waits, before the number of the run
WAIT = "wait/"
#: the most alerts for waits in one round; the others follow in the next
AT_A_TIME = 20
#: the path from a request to a field of its run's order; null means no limit
ORDERED = "process__run_process__run__crawl__thresholds"
ALLOWED_MINUTES = Case(
    When(
        **{f"{ORDERED}__has_key": "wait_alert_minutes"},
        then=Cast(KeyTextTransform("wait_alert_minutes", ORDERED), IntegerField()),
    ),
    default=Value(ThresholdsPart().wait_alert_minutes),
)


def enabled_listeners() -> QuerySet[Listener]:
    """The listeners that get alerts: enabled listeners, except mailboxes of locked accounts and of
    users without an address.
    """
    theirs = User.objects.filter(email__iexact=OuterRef("mailbox"))
    is_locked = Exists(theirs.filter(is_active=False)) & ~Exists(theirs.filter(is_active=True))
    can_read = Q(user__is_active=True) & ~Q(user__email="")
    found = Listener.objects.annotate(mailbox=Substr("url", len(MAILTO) + 1))
    return found.filter(can_read | Q(user=None) & ~Q(is_locked), is_on=True)


def add_deliveries(
    run: Run, event: AlertEvent, sentence: str, more: Mapping[str, Any], page: str
) -> None:
    """Add a delivery for each listener of the run's events, unless an experiment has ordered the
    crawl. `crawling.installation.events.alert` describes the facts.
    """
    crawl = run.crawl
    if crawl.pool and Pool.objects.filter(name=crawl.pool, is_experiment=True).exists():
        return
    facts = {"crawl": crawl.pk, "name": crawl.name, "run": run.number, "sentence": sentence}
    _add_deliveries(event, {**facts, **more}, page or CRAWL_PAGE.format(crawl.pk), crawl)


def delete_page_alerts(crawl: CrawlJob) -> None:
    """Delete the deliveries that quote pages of a crawl, sent or not."""
    Delivery.objects.filter(crawl=crawl, event__in=OF_PAGES).delete()


def notify_of_pool(pool: int, name: str, sentence: str) -> None:
    """Add a delivery for each listener of unsafe pools."""
    _add_deliveries(
        AlertEvent.UNSAFE,
        {"pool": pool, "name": name, "sentence": sentence},
        POOL_PAGE.format(pool),
        None,
    )


def add_test_delivery(listener: Listener, sender: str) -> Delivery:
    """Add a test delivery for one listener, whatever events it gets."""
    now = timezone.now()
    facts = {"name": str(listener), "sentence": f"This is a test, sent by {sender}."}
    body = body_of_event(TEST_EVENT, facts, LISTENER_PAGE.format(listener.pk), now)
    return Delivery.objects.create(listener=listener, event=TEST_EVENT, body=body, next_try_at=now)


def _add_deliveries(
    event: AlertEvent, facts: dict[str, Any], page: str, crawl: CrawlJob | None
) -> None:
    whose = Q(crawl=None) | Q(crawl=crawl) if crawl else Q(crawl=None)
    listeners = list(enabled_listeners().filter(whose, user=None, events__contains=[event]))
    if not listeners:
        return
    now = timezone.now()
    body = body_of_event(event, facts, page, now)
    Delivery.objects.bulk_create(
        Delivery(listener=listener, crawl=crawl, event=event, body=body, next_try_at=now)
        for listener in listeners
    )


def body_of_event(event: str, facts: dict[str, Any], page: str, now: datetime) -> str:
    link = {"page": settings.PUBLIC_URL + page} if settings.PUBLIC_URL else {}
    return json.dumps({"event": event, **facts, "at": now.isoformat(), **link})


class OngoingState(NamedTuple):
    key: str
    sentence: str
    tell: Callable[[str], None]


def raise_ongoing_alerts() -> None:
    """Alert listeners of new states, and delete the notices of states that ended.

    Of two concurrent schedulers, only one sends each alert.
    """
    late = _late_waits(timezone.now())
    is_late = Exists(late.filter(key=OuterRef("key")))  # type: ignore[misc]  # annotated
    Notice.objects.filter(~is_late, key__startswith=WAIT).delete()
    known = set(Notice.objects.exclude(key__startswith=WAIT).values_list("key", flat=True))
    banks = _unsafe_banks()
    Notice.objects.filter(key__in=known - {state.key for state in banks}).delete()
    for state in [*_unalerted_waits(late), *(bank for bank in banks if bank.key not in known)]:
        with transaction.atomic():
            _, is_new = Notice.objects.get_or_create(
                key=state.key, defaults={"sentence": state.sentence}
            )
            if is_new:
                state.tell(state.sentence)


def _late_waits(now: datetime) -> QuerySet[Request]:
    """Waits that are longer than orders allow without an alert, with the `key` of their notices."""
    at_work = {"process__run_process__run__state__in": WORKING_STATES}
    asked = Request.objects.filter(state=RequestState.WAITING, **at_work)
    key = Concat(Value(WAIT), Cast("process__run_process__run", CharField()))
    return asked.annotate(key=key, allowed=ALLOWED_MINUTES).filter(
        # no order has a shorter time, so the orders of newer waits are not read
        created_at__lte=now - MINUTE,
        created_at__lt=now - F("allowed") * Value(MINUTE),
    )


def _unalerted_waits(late: QuerySet[Request]) -> list[OngoingState]:
    """Some waits of which no listener was alerted, the longest first."""
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
            partial(_alert_of_wait, run),
        )
        for run, (process, minutes) in overdue.items()
        if process in waits
    ]


def _alert_of_wait(run_id: int, sentence: str) -> None:
    write(run_id, sentence, level=Level.WARNING)
    alert(Run.objects.select_related("crawl").get(pk=run_id), AlertEvent.WAITING, sentence)


def _unsafe_banks() -> list[OngoingState]:
    return [
        OngoingState(
            f"{alarm.kind}/{alarm.pool}",
            alarm.text,
            partial(notify_of_pool, alarm.pool, alarm.name),
        )
        for alarm in alarms()
    ]
