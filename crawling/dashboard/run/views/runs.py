"""The runs of a crawl: what each takes, what becomes of it, and the rules for that."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods

from crawling.errors import BadOrder
from crawling.housekeeping.retention import set_retention
from crawling.housekeeping.retention_view import kept_runs, rules_of
from crawling.models import CrawlJob
from crawling.orders.retention import Retention, read_retention

RUNS = 100
NUMBER = {"inputmode": "numeric", "autocomplete": "off"}


class RetentionForm(forms.Form):
    """Questions only; what is right is settled by `read_retention`."""

    keep_runs = forms.CharField(
        label="Keep the last so many runs",
        required=False,
        help_text="Empty: all.",
        widget=forms.TextInput(attrs=NUMBER),
    )
    keep_days = forms.CharField(
        label="Keep each so many days after its end",
        required=False,
        help_text="Empty: for ever.",
        widget=forms.TextInput(attrs=NUMBER),
    )
    max_bytes = forms.CharField(
        label="Keep so many bytes of archive files",
        required=False,
        help_text="The oldest runs go first; 1000000000 are a gigabyte. Empty: no limit.",
        widget=forms.TextInput(attrs=NUMBER),
    )

    def fields_of_retention(self) -> dict[str, str]:
        return {name: text.strip() for name, text in self.cleaned_data.items() if text.strip()}

    def tell(self, errors: dict[str, str]) -> None:
        for field, sentence in errors.items():
            self.add_error(field if field in self.fields else None, capfirst(sentence))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def runs(request: HttpRequest, pk: int) -> HttpResponse:
    """List runs with their fates; a POST sets the rules, or shows what they would do."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    form = RetentionForm(request.POST or None, initial=crawl.retention)
    would: Retention | None = None
    if request.method == "POST":
        assert isinstance(request.user, User)
        if not request.user.has_perm("crawling.delete_crawljob"):
            raise PermissionDenied
        if "preview" in request.POST and form.is_valid():
            would, errors = read_retention(form.fields_of_retention())
            form.tell(errors)
        elif form.is_valid() and _saved(request, crawl, form, request.user):
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


def _saved(request: HttpRequest, crawl: CrawlJob, form: RetentionForm, by: User) -> bool:
    """Whether it went well; otherwise the form says why not."""
    try:
        rules = set_retention(crawl, form.fields_of_retention(), by=by)
    except BadOrder as error:
        form.tell(error.errors)
        return False
    messages.success(
        request,
        "Saved; the keeper sees to it within a minute."
        if rules.is_on
        else "All runs are kept from now on.",
    )
    return True
