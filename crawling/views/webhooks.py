"""The pages about webhooks: who is told, what, and what became of it."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods, require_POST

from crawling.errors import BadOrder
from crawling.models import Delivery, Webhook
from crawling.rules.webhooks import Event
from crawling.services.webhooks import remove_webhook, save_webhook, send_again

SHOWN = 50
EVENTS = (
    (Event.STARTED, "a run has started"),
    (Event.FINISHED, "it has finished"),
    (Event.STOPPED, "somebody stopped it"),
    (Event.FAILED, "it has failed"),
    (Event.TROUBLE, "it paused by itself, because of some trouble"),
)


class WebhookForm(forms.Form):
    """Questions only; what is right is settled by `save_webhook`."""

    name = forms.CharField(label="Name", required=False)
    url = forms.CharField(
        label="Address",
        required=False,
        help_text="http or https. An address that is not public needs an administrator's permission, as for crawls.",
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        label="Tell it when", required=False, choices=EVENTS, widget=forms.CheckboxSelectMultiple, initial=[Event.FINISHED, Event.FAILED]
    )
    is_on = forms.BooleanField(label="Switched on", required=False, initial=True)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("crawling.change_webhook", raise_exception=True)
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the webhooks; make one."""
    form = WebhookForm(request.POST or None)
    made = _save(request, form, None) if request.method == "POST" else None
    if made:
        return redirect("webhooks:webhook", pk=made.pk)
    return render(request, "webhooks/webhooks.html", {"webhooks": Webhook.objects.all(), "form": form})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("crawling.change_webhook", raise_exception=True)
def webhook(request: HttpRequest, pk: int) -> HttpResponse:
    """Show what a webhook was told; change or remove it."""
    assert isinstance(request.user, User)
    row = get_object_or_404(Webhook, pk=pk)
    if "remove" in request.POST:
        remove_webhook(row, by=request.user)
        messages.success(request, f"{row.name} is told nothing any more.")
        return redirect("webhooks:webhooks")
    form = WebhookForm(request.POST or None, initial={name: getattr(row, name) for name in WebhookForm.base_fields})
    if request.method == "POST" and _save(request, form, row):
        return redirect("webhooks:webhook", pk=pk)
    facts = {"webhook": get_object_or_404(Webhook, pk=pk), "form": form, "deliveries": row.deliveries.all()[:SHOWN]}
    return render(request, "webhooks/webhook.html", facts)


@require_POST
@login_required
@permission_required("crawling.change_webhook", raise_exception=True)
def again(request: HttpRequest, pk: int, delivery: int) -> HttpResponse:
    """Send a delivery once more."""
    assert isinstance(request.user, User)
    send_again(get_object_or_404(Delivery, pk=delivery, webhook=pk), by=request.user)
    messages.success(request, "It is sent again within seconds.")
    return redirect("webhooks:webhook", pk=pk)


def _save(request: HttpRequest, form: WebhookForm, row: Webhook | None) -> Webhook | None:
    """The webhook, or None and the form says why not."""
    assert isinstance(request.user, User)
    if not form.is_valid():
        return None
    try:
        saved = save_webhook(form.cleaned_data, by=request.user, webhook=row)
    except BadOrder as error:
        for field, sentence in error.errors.items():
            form.add_error(field if field in form.fields else None, capfirst(sentence))
        return None
    messages.success(request, f"{saved.name} is saved.")
    return saved
