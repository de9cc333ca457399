"""The pages about alerts: listeners and their deliveries, and a user's own weekly summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone

from crawling.base.alert_events import AlertEvent
from crawling.base.encrypted_text import SealBroken
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.dashboard.base.named_things import NamedKind
from crawling.dashboard.base.panels import Panel, Place
from crawling.dashboard.base.recently_deleted import DeletedRow, RestorableKind, kept_row
from crawling.dashboard.base.trouble import errors_told, show_mistakes
from crawling.dashboard.base.undo import show_message
from crawling.models import CrawlJob
from crawling.runs.crawls.share_links import SharedKind
from crawling.runs.week import WEEK
from crawling.uses.alerts.listeners import (
    choose_summary,
    drop_summary,
    hand_mailbox_over,
    mailboxes_of,
    remove_listener,
    remove_listener_now,
    removed_listeners,
    restore_listener,
    save_listener,
    send_again,
    send_test,
    summary_obstacle,
)
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.weekly import NEEDS, week_end, zone_name, zone_of_listener
from crawling.uses.alerts.wording import MessageFormat, is_mailbox
from serving.access import AuthenticatedRequest, authenticated, needs

SHOWN = 50
EVENTS = (
    (AlertEvent.STARTED, "a run has started"),
    (AlertEvent.FINISHED, "it has finished"),
    (AlertEvent.STOPPED, "it was stopped by an operator"),
    (AlertEvent.FAILED, "it has failed"),
    (AlertEvent.TROUBLE, "it was paused or stopped by a threshold or a failure"),
    (AlertEvent.WAITING, "it has waited for resources for longer than its settings say"),
    (AlertEvent.HELD, "it holds URLs back as a possible trap, until an operator decides"),
    (AlertEvent.PAGE_CHANGED, "pages that a watch covers have changed"),
    (AlertEvent.PAGE_GONE, "pages that a watch covers are gone"),
    (AlertEvent.PAGE_NEW, "there are new pages that a watch covers"),
    (AlertEvent.LINKS_BROKEN, "links are broken that were not in the run before"),
    (AlertEvent.LINKS_FIXED, "links are fixed that were broken in the run before"),
    (AlertEvent.WEEK, "once a week: what changed in each crawl"),
    (AlertEvent.UNSAFE, "a pool is not safe, or units are missing in it"),
)

FORMATS = (
    (MessageFormat.JSON, "JSON, signed"),
    (MessageFormat.SLACK, "Slack message"),
    (MessageFormat.TEAMS, "Teams card"),
    (MessageFormat.MATRIX, "Matrix message"),
)


class ListenerForm(forms.Form):
    """The questions about a listener. `save_listener` decides which answers are valid."""

    name = forms.CharField(label="Name", required=False)
    url = forms.CharField(
        label="Address",
        required=False,
        widget=forms.TextInput(
            attrs={"inputmode": "url", "spellcheck": "false", "autocapitalize": "off"}
        ),
    )
    message_format = forms.ChoiceField(
        label="Message format",
        choices=FORMATS,
        required=False,
        initial=MessageFormat.JSON,
        help_text="Chats need their own format. E-mail ignores it.",
    )
    events = forms.MultipleChoiceField(
        label="Send when",
        required=False,
        choices=EVENTS,
        widget=forms.CheckboxSelectMultiple,
        initial=[
            AlertEvent.FAILED,
            AlertEvent.TROUBLE,
            AlertEvent.WAITING,
            AlertEvent.HELD,
            AlertEvent.UNSAFE,
        ],
    )
    crawl = forms.CharField(
        label="Only of this crawl",
        required=False,
        help_text="Its name. Empty: of all crawls, and of pools.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    is_on = forms.BooleanField(label="Enabled", required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        mail = (
            "E-mail: name@example.org"
            if settings.EMAIL_HOST
            else "E-mail (off): no mail server is set (MAIL_URL)"
        )
        self.fields["url"].help_text = (
            f"Webhook or chat: https://…; at a private address it needs an administrator's "
            f"permission, as crawls do. {mail}."
        )


@authenticated(needs="alerts.change_listener", methods=("GET", "HEAD", "POST"))
def listeners_page(request: AuthenticatedRequest) -> HttpResponse:
    form = ListenerForm(request.POST or None)
    made = _save_listener(request, form, None) if request.method == "POST" else None
    if made:
        return redirect("alerts:listener", pk=made.pk)
    return render(
        request,
        "alerts/listeners.html",
        {
            "listeners": Listener.objects.filter(user=None).select_related("crawl"),
            "summaries": Listener.objects.exclude(user=None).select_related("user"),
            "form": form,
        },
    )


@authenticated(needs="alerts.change_listener", methods=("GET", "HEAD", "POST"))
def listener_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    if "restore" in request.GET and request.method == "POST":
        return _restore_listener(request, pk)
    accounts = ("crawl", "user__preference", "created_by__preference")
    row = get_object_or_404(Listener.objects.select_related(*accounts), pk=pk)
    if "remove" in request.POST:
        return _remove_listener(request, row)
    form = ListenerForm(
        request.POST or None,
        initial={
            **{name: getattr(row, name) for name in ListenerForm.base_fields},
            "crawl": row.crawl.name if row.crawl else "",
        },
    )
    if request.method == "POST" and _save_listener(request, form, row):
        return redirect("alerts:listener", pk=pk)
    facts = {
        "is_mailbox": is_mailbox(row.address),
        "may_remove": request.user.has_perm("alerts.delete_listener"),
        "listener": get_object_or_404(Listener, pk=pk),
        "week": _next_summary_facts(row) if AlertEvent.WEEK in row.events else None,
        "secret": _secret_or_reason(row),
        "form": form,
        "deliveries": row.deliveries.all()[:SHOWN],
    }
    return render(request, "alerts/listener.html", facts)


@needs("alerts.delete_listener")
def _remove_listener(request: AuthenticatedRequest, row: Listener) -> HttpResponse:
    if row.user:
        drop_summary(row.user, by=request.user)
        messages.success(request, f"{row} ends.")
    else:
        remove_listener(row, by=request.user)
        address = reverse("alerts:listener", args=[row.pk])
        show_message(request, f"{row} gets no more deliveries.", address=f"{address}?restore=1")
    return redirect("alerts:listeners")


@needs("alerts.delete_listener")
def _restore_listener(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    with errors_told(request, WrongState, NotFound):
        row = restore_listener(pk, by=request.user)
        messages.success(request, f"{row} is restored, with its deliveries.")
    return redirect("alerts:listeners")


@authenticated(needs="alerts.change_listener", methods=("POST",))
def send_delivery_again(request: AuthenticatedRequest, pk: int, delivery: int) -> HttpResponse:
    send_again(get_object_or_404(Delivery, pk=delivery, listener=pk), by=request.user)
    messages.success(request, "It is sent again within seconds.")
    return redirect("alerts:listener", pk=pk)


@authenticated(needs="alerts.change_listener", methods=("POST",))
def send_test_alert(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    with errors_told(request, WrongState):
        send_test(get_object_or_404(Listener, pk=pk), by=request.user)
        messages.success(request, "A test is sent within seconds; its result is listed below.")
    return redirect("alerts:listener", pk=pk)


def _next_summary_facts(row: Listener) -> dict[str, Any]:
    """The end of the week that the next summary covers, and the name of the account's time zone if
    it is invalid.
    """
    zone, name = zone_of_listener(row), zone_name(row)
    end = week_end(timezone.now(), zone) + WEEK
    wrong = "" if str(zone) == name else name
    return {"end": end, "zone": str(zone), "wrong_zone": wrong, "account": row.account}


@authenticated(needs=NEEDS, methods=("POST",))
def change_own_summary(request: AuthenticatedRequest) -> HttpResponse:
    """Start the user's weekly summary by mail, or end it if the form has `off`."""
    with errors_told(request, BadOrder):
        if "off" in request.POST:
            drop_summary(request.user, by=request.user)
            messages.success(request, "You get no weekly summary any more.")
        else:
            choose_summary(request.user)
            messages.success(request, "You get a weekly summary of your crawls by mail.")
    return redirect(f"{reverse('preferences')}#weekly-summary")


def _summary_facts(user: User) -> dict[str, Any] | None:
    """The facts about this user's weekly summary; None if the user may see no crawls."""
    if not user.has_perm(NEEDS):
        return None
    row = Listener.objects.filter(user=user).select_related("user__preference").first()
    return {
        "summary": row,
        "week": _next_summary_facts(row or Listener(user=user)),
        "latest": row.deliveries.first() if row else None,
        "why_not": summary_obstacle(user),
    }


def _secret_or_reason(listener: Listener) -> str:
    """The secret, or the reason why it cannot be read; "" if there is none."""
    try:
        return listener.secret if listener.sealed else ""
    except SealBroken as error:
        return str(error)


def _crawl_id_of(name: str) -> int | None:
    """The id of the crawl with this name. Raises BadOrder."""
    if not name:
        return None
    found = CrawlJob.objects.filter(name=name).values_list("pk", flat=True).first()
    if found is None:
        raise BadOrder({"crawl": f"there is no crawl named {name!r}"})
    return found


def _save_listener(
    request: AuthenticatedRequest, form: ListenerForm, row: Listener | None
) -> Listener | None:
    """Save the listener and return it. None if the form has mistakes, which are added to the
    form.
    """
    if not form.is_valid():
        return None
    answers = {**form.cleaned_data}
    answers["message_format"] = answers["message_format"] or MessageFormat.JSON
    try:
        answers["crawl"] = _crawl_id_of(answers["crawl"])
        saved = save_listener(answers, by=request.user, listener=row)
    except BadOrder as error:
        show_mistakes(form, error.errors)
        return None
    messages.success(request, f"{saved.name} is saved.")
    return saved


app_name = "alerts"
urlpatterns = [
    path("", listeners_page, name="listeners"),
    path("weekly-summary/", change_own_summary, name="own-summary"),
    path("<int:pk>/", listener_page, name="listener"),
    path("<int:pk>/test/", send_test_alert, name="test"),
    path("<int:pk>/deliveries/<int:delivery>/again/", send_delivery_again, name="again"),
]

PANELS = (Panel(Place.ACCOUNT, "alerts/_own_summary.html", _summary_facts),)
SHARED = (
    SharedKind(
        "alert by mail",
        lambda listener: reverse("alerts:listener", args=[listener.pk]),
        mailboxes_of,
        lambda listener, receiver, by: hand_mailbox_over(listener, receiver, by=by),
    ),
)


def _deleted_rows(user: User | None, **wanted: object) -> Iterator[DeletedRow]:
    for row in removed_listeners().filter(**wanted):
        assert row.removal_asked_at is not None
        yield kept_row("alert", row.pk, row.name, row.removal_asked_at)


RESTORABLE = (
    RestorableKind(
        "alert",
        "alerts.delete_listener",
        _deleted_rows,
        restore_listener,
        remove_listener_now,
        needs="alerts.view_listener",
    ),
)
FOUND_BY_NAME = (
    NamedKind(
        "Alert",
        lambda: Listener.objects.filter(user=None),
        lambda one: reverse("alerts:listener", args=[one.pk]),
        needs="alerts.change_listener",
    ),
)
