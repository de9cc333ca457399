"""The runs of a crawl: the size of each, its removal, and the rules for that."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.text import capfirst

from crawling.errors import BadOrder
from crawling.housekeeping.retention import set_retention
from crawling.housekeeping.retention_view import kept_runs, rules_of
from crawling.models import CrawlJob
from crawling.orders.retention import Retention, read_retention
from serving.access import AuthenticatedRequest, authenticated, needs

RUNS = 100
NUMBER = {"inputmode": "numeric", "autocomplete": "off"}


class RetentionForm(forms.Form):
    """Questions only; what is right is settled by `read_retention`."""

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

    def tell(self, errors: dict[str, str]) -> None:
        for field, sentence in errors.items():
            self.add_error(field if field in self.fields else None, capfirst(sentence))


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def runs(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List runs with their fates; a POST sets the rules, or shows what they would do."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    form = RetentionForm(request.POST or None, initial=crawl.retention)
    would: Retention | None = None
    if "preview" in request.POST:
        would = _preview(request, form)
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
        request, "crawling/runs.html", {**here, "rules": rules_of(crawl), "now": timezone.now()}
    )


@needs("crawling.delete_crawljob")
def _preview(request: AuthenticatedRequest, form: RetentionForm) -> Retention | None:
    """The rules as they would be; None, and the form states its errors."""
    if not form.is_valid():
        return None
    would, errors = read_retention(form.fields_of_retention())
    form.tell(errors)
    return would


@needs("crawling.delete_crawljob")
def _save(request: AuthenticatedRequest, crawl: CrawlJob, form: RetentionForm) -> bool:
    """Whether it went well; otherwise the form says why not."""
    if not form.is_valid():
        return False
    try:
        rules = set_retention(crawl, form.fields_of_retention(), by=request.user)
    except BadOrder as error:
        form.tell(error.errors)
        return False
    messages.success(
        request,
        "Saved; the scheduler sees to it within a minute."
        if rules.is_on
        else "All runs are kept from now on.",
    )
    return True
