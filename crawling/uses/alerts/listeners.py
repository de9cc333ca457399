"""Listeners: create, change, hand over and remove them, and send a delivery again."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.models import CrawlJob
from crawling.models.deleted import RESTORABLE
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.notify import add_test_delivery
from crawling.uses.alerts.wording import MAILTO, is_mailbox, read_listener

#: the fields whose changes are shown in the activity log
AUDITED = ("url", "events", "crawl_id", "message_format", "is_on")


def save_listener(
    fields: Mapping[str, Any], *, by: User, listener: Listener | None = None
) -> Listener:
    """Create a listener with a new secret, or change a listener.

    Raises BadOrder with a sentence for each field.
    """
    if listener and listener.user:
        raise BadOrder({"listener": f"{listener} is a choice of that user, under Preferences"})
    order, errors = read_listener(fields)
    if order is None:
        raise BadOrder(errors)
    if is_mailbox(order.url) and not settings.EMAIL_HOST:
        raise BadOrder(
            {"url": "needs a mail server, and none is set: set MAIL_URL (see docs/settings.md)"}
        )
    if order.crawl is not None and not CrawlJob.objects.filter(pk=order.crawl).exists():
        raise BadOrder({"crawl": f"there is no crawl {order.crawl}"})
    try:
        with transaction.atomic():
            row = _lock_listener(listener) if listener else _set_new_secret(Listener(created_by=by))
            before = {field: getattr(row, field) if listener else None for field in AUDITED}
            row.name = order.name
            values = order.model_dump(mode="json", exclude={"name", "crawl"})
            for field, value in {**values, "crawl_id": order.crawl}.items():
                setattr(row, field, value)
            if AlertEvent.WEEK in order.events and AlertEvent.WEEK not in (before["events"] or ()):
                row.week_told_at = timezone.now()  # its first week is the current one
            row.save()
            changes = {field: (before[field], getattr(row, field)) for field in AUDITED}
            record_action(by, row, "changed" if listener else "created", changes)
    except IntegrityError as error:
        raise BadOrder(
            {"name": f"there is a listener named {order.name!r} already; choose another name"}
        ) from error
    return row


def _set_new_secret(row: Listener) -> Listener:
    row.secret = secrets.token_hex(32)
    return row


def _lock_listener(listener: Listener) -> Listener:
    """The listener's current row, locked. Raises BadOrder for a deleted listener, since saving it
    would restore it.
    """
    row = Listener.objects.select_for_update().filter(pk=listener.pk).first()
    if row is None:
        raise BadOrder({"listener": f"{listener} has been removed; create it again"})
    return row


def remove_listener(listener: Listener, *, by: User) -> None:
    """Remove the listener with its deliveries, sent or not. The listener can be restored for a
    day.
    """
    with transaction.atomic():
        record_action(by, listener, "deleted", {"url": (listener.address, None)})
        Listener.objects.filter(pk=listener.pk).update(removal_asked_at=timezone.now())


def removed_listeners() -> QuerySet[Listener]:
    """The listeners that can be restored, the latest deletion first."""
    since = timezone.now() - RESTORABLE
    return Listener.all_objects.filter(removal_asked_at__gt=since).order_by("-removal_asked_at")


def restore_listener(number: int, *, by: User | None) -> Listener:
    """Restore the listener; deliveries that are due to it are sent. Raises NotFound and
    WrongState.
    """
    removed = removed_listeners().filter(pk=number)
    try:
        with transaction.atomic():
            if not removed.update(removal_asked_at=None):
                raise NotFound(f"There is no removed alert {number}.")
            row = Listener.objects.get(pk=number)
            record_action(by, row, "restored", {"url": (None, row.address)})
    except IntegrityError as error:
        raise WrongState("There is another alert of that name; rename that one first.") from error
    return row


def remove_listener_now(number: int, *, by: User | None) -> None:
    """Delete a removed listener permanently, with its deliveries. Raises NotFound."""
    row = removed_listeners().filter(pk=number).first()
    if row is None:
        raise NotFound(f"There is no removed alert {number}.")
    with transaction.atomic():
        _delete_listener(row, by)


def delete_removed_listeners() -> None:
    """Delete listeners that can no longer be restored, with their deliveries."""
    Listener.all_objects.filter(removal_asked_at__lte=timezone.now() - RESTORABLE).delete()


def _delete_listener(row: Listener, by: User | None) -> None:
    record_action(by, row, "deleted", {"url": (row.address, None)})
    row.delete()


def summary_obstacle(user: User) -> str:
    """The reason why no weekly summary can be sent to a user; "" if one can be sent."""
    if not settings.EMAIL_HOST:
        return "Off: this installation has no mail server (MAIL_URL)."
    if not user.email:
        return "Your account has no e-mail address; an administrator enters one under Users."
    return ""


def choose_summary(user: User) -> None:
    """Send a user a weekly summary of the user's own crawls by mail. Raises BadOrder."""
    if why_not := summary_obstacle(user):
        raise BadOrder({"is_on": why_not})
    told = {"events": [AlertEvent.WEEK], "created_by": user, "week_told_at": timezone.now()}
    with transaction.atomic():
        row, is_new = Listener.objects.get_or_create(user=user, defaults=told)
        if is_new:
            record_action(user, row, "created")


def drop_summary(user: User, *, by: User) -> None:
    """End a user's weekly summary, if there is one."""
    if row := Listener.objects.filter(user=user).first():
        with transaction.atomic():
            _delete_listener(row, by)


def mailboxes_of(user: User) -> list[Listener]:
    """The listeners with the address of an account. While the account is locked they get no
    alerts.
    """
    found = Listener.objects.filter(user=None, url__iexact=f"{MAILTO}{user.email}")
    return list(found.select_related("crawl")) if user.email else []


def hand_mailbox_over(listener: Listener, receiver: User, *, by: User | None) -> None:
    """Send the listener's alerts to the address of another account. The caller is in a transaction.
    Raises BadOrder.
    """
    if not receiver.email:
        sentence = f"{receiver} has no e-mail address to which {listener} could go."
        raise BadOrder({"hand_to": sentence})
    url = f"{MAILTO}{receiver.email}"
    record_action(by, listener, "handed over", {"url": (listener.url, url)})
    Listener.objects.filter(pk=listener.pk).update(url=url, created_by=receiver)


def end_summary_of_account(user: User, by: User) -> None:
    """Permanently delete the listeners with the address of an account that is deleted. The caller
    is in a transaction.
    """
    theirs = Q(user=user) | Q(user=None, url__iexact=f"{MAILTO}{user.email or user.pk}")
    for row in Listener.all_objects.filter(theirs):
        _delete_listener(row, by)


def send_again(delivery: Delivery, *, by: User) -> None:
    """Send a delivery again, as if it had not been tried."""
    with transaction.atomic():
        record_action(by, delivery.listener, "sent again", {"delivery": (None, delivery.pk)})
        Delivery.objects.filter(pk=delivery.pk).update(
            attempts=0, next_try_at=timezone.now(), delivered_at=None
        )


def send_test(listener: Listener, *, by: User) -> Delivery:
    """Send the listener a message that says it is a test; its delivery shows whether it arrived.

    Raises WrongState for a disabled listener, which gets no messages.
    """
    with transaction.atomic():
        row = _lock_listener(listener)
        if not row.is_on:
            raise WrongState(f"{row} is disabled; enable it to send a test.")
        record_action(by, row, "sent a test", {})
        return add_test_delivery(row, by.get_username())
