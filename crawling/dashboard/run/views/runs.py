"""The runs of a crawl: the size of each, its removal, and the rules for that. Also the pages that
delete a crawl or a run, which say what is deleted with it, and how long it can be restored. Buttons
elsewhere delete a crawl at once, since *Undo* restores it.
"""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from crawling.base.errors import BadOrder, WrongState
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.base.requests import next_page
from crawling.dashboard.base.trouble import errors_told, show_mistakes
from crawling.dashboard.base.undo import show_message
from crawling.models import CrawlJob, DeletedKind, Run
from crawling.orders.retention import Retention, read_retention
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.housekeeping.retention import set_retention
from crawling.runs.housekeeping.retention_view import deletion_loss, kept_runs, retention_of
from crawling.runs.housekeeping.run_removal import removal_obstacle, remove_run
from crawling.runs.transitions import AT_REST
from serving.access import AuthenticatedRequest, authenticated, needs

RUNS = 50
NUMBER = {"inputmode": "numeric", "autocomplete": "off"}
DELETED = '{} is deleted. For 24 hours you can restore it from <a href="{}">Recently deleted</a>.'


class RetentionForm(forms.Form):
    """The questions about retention. `read_retention` decides which answers are valid."""

    keep_runs = forms.CharField(
        label="Keep last N runs",
        required=False,
        help_text="Empty: all.",
        widget=forms.TextInput(attrs=NUMBER),
    )
    keep_days = forms.CharField(
        label="Keep for N days after the end",
        required=False,
        help_text="Empty: for ever.",
        widget=forms.TextInput(attrs=NUMBER),
    )
    max_bytes = forms.CharField(
        label="Keep N bytes of archive files",
        required=False,
        help_text="The oldest runs go first; 1000000000 are a gigabyte. Empty: no limit.",
        widget=forms.TextInput(attrs=NUMBER),
    )

    def fields_of_retention(self) -> dict[str, str]:
        return {name: text.strip() for name, text in self.cleaned_data.items() if text.strip()}


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def runs(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List runs with their fates. A POST sets the rules, or previews their effect."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    form = RetentionForm(request.POST or None, initial=crawl.retention)
    would: Retention | None = None
    if "preview" in request.POST:
        would = _previewed_rules(request, form)
    elif request.method == "POST" and _save(request, crawl, form):
        return redirect("crawling:runs", pk)
    kept = kept_runs(crawl, would)
    page = Paginator(kept, RUNS).get_page(request.GET.get("page"))
    here = {
        "crawl": crawl,
        "page": page,
        "total": sum(one.file_bytes for one in kept),
        "form": form,
        "is_preview": would is not None,
    }
    return render(
        request, "crawling/runs.html", {**here, "rules": retention_of(crawl), "now": timezone.now()}
    )


@needs("crawling.delete_crawljob")
def _previewed_rules(request: AuthenticatedRequest, form: RetentionForm) -> Retention | None:
    """The rules in the form. None if the form has errors, which it then shows."""
    if not form.is_valid():
        return None
    would, errors = read_retention(form.fields_of_retention())
    show_mistakes(form, errors)
    return would


@needs("crawling.delete_crawljob")
def _save(request: AuthenticatedRequest, crawl: CrawlJob, form: RetentionForm) -> bool:
    """Set the rules. Return whether that succeeded; if not, the form has the reason."""
    if not form.is_valid():
        return False
    try:
        rules = set_retention(crawl, form.fields_of_retention(), by=request.user)
    except BadOrder as error:
        show_mistakes(form, error.errors)
        return False
    messages.success(
        request,
        "Saved; the scheduler sees to it within a minute."
        if rules.is_on
        else "All runs are kept from now on.",
    )
    return True


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def delete(request: AuthenticatedRequest, crawl: int) -> HttpResponse:
    job = get_object_or_404(CrawlJob, pk=crawl)
    error = ""
    if request.method == "POST":
        try:
            delete_crawl(job, by=request.user)
        except WrongState as trouble:
            error = str(trouble)
        else:
            _tell_deleted(request, job.name, DeletedKind.CRAWL, job.pk)
            sent_from, own = next_page(request), reverse("crawling:crawl", args=[crawl])
            is_gone = not sent_from or sent_from.startswith(own)
            return redirect("crawling:crawls" if is_gone else sent_from)
    view = crawl_view(job)
    facts = {
        "crawl": view,
        "loss": deletion_loss(list(job.runs.values_list("pk", flat=True))),
        "is_over": view.state in AT_REST,
        "error": error,
    }
    return render(request, "crawling/delete.html", facts)


@authenticated(needs="crawling.delete_crawljob", methods=("GET", "HEAD", "POST"))
def delete_run(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    run = get_object_or_404(Run.objects.select_related("crawl"), crawl=pk, number=number)
    if request.method == "POST":
        with errors_told(request, WrongState):
            remove_run(run, by=request.user)
            _tell_deleted(request, f"Run {number} of {run.crawl.name}", DeletedKind.RUN, run.pk)
        return redirect("crawling:runs", pk)
    facts = {
        "crawl": run.crawl,
        "run": run,
        "loss": deletion_loss([run.pk]),
        "why_not": removal_obstacle(run),
    }
    return render(request, "crawling/delete_run.html", facts)


def _tell_deleted(request: AuthenticatedRequest, name: str, kind: DeletedKind, pk: int) -> None:
    told = format_html(DELETED, name, reverse("crawling:deleted"))
    show_message(request, told, address=reverse("crawling:restore-deleted", args=[kind, pk]))
