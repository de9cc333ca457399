"""A crawl's rules. Users edit them while the crawl runs, and test them before and after an edit.
Also the list of edits, and the exceptions from robots.txt.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from allocation.wording import whole_number
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.orders.create_views import check_answer, form_of
from crawling.dashboard.orders.forms.create import EditForm, edit_answers
from crawling.dashboard.orders.forms.fields import typed_entries
from crawling.dashboard.orders.forms.sections import sections_of
from crawling.models import CrawlJob
from crawling.orders.estimates import order_figures
from crawling.orders.rendering_needs import rendering_figures
from crawling.orders.scope.filters import Rule
from crawling.runs.crawls.earlier_renderings import needs_of_rendering
from crawling.runs.crawls.maximum import check_max
from crawling.runs.crawls.revisions import edit_crawl, revert_edit
from crawling.runs.crawls.robots_exceptions import end_exception, except_host
from crawling.runs.crawls.scope_tests import (
    MOST_TESTED,
    RuleCheck,
    changed_order,
    preview_changes,
    try_changes,
    try_order,
)
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.requests import wants_fragment

REVISIONS = 20
#: the number of exceptions from robots.txt that are shown, the latest ones
EXCEPTIONS = 50


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def scope(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show a crawl's rules, with the sections `?unfolded=` open. On POST, test addresses by the
    rules in the form, preview the URLs that they would remove, or save them.
    """
    crawl = get_object_or_404(CrawlJob.objects.select_related("created_by"), pk=pk)
    if request.method != "POST":
        return _page(request, crawl, EditForm(initial=edit_answers(crawl)))
    form = EditForm(request.POST)
    form.is_valid()
    if "test" in request.POST:
        return _test_scope(request, crawl, form)
    if "preview" in request.POST:
        return _preview_page(request, crawl, form)
    return _save(request, crawl, form)


@needs("crawling.change_crawljob")
def _save(request: AuthenticatedRequest, crawl: CrawlJob, form: EditForm) -> HttpResponse:
    try:
        edited = edit_crawl(
            crawl,
            form.as_changes(),
            by=request.user,
            revision=whole_number(request.POST.get("revision")),
        )
    except BadOrder as error:
        form.blame(error.errors)
    except CrawlError as error:
        messages.error(request, str(error))
    else:
        saved = f"Revision {edited.revision} is saved.{_effect_in_words(crawl)}"
        messages.success(
            request, saved if edited.revision != crawl.revision else "Nothing was changed."
        )
        return redirect("crawling:scope", crawl.pk)
    return _page(request, crawl, form)


def _effect_in_words(crawl: CrawlJob) -> str:
    """The effect of an edit on the latest run, as a sentence."""
    view = crawl_view(crawl)
    if view.run is None:
        return ""
    if view.finished_at is None:
        return " The active run obeys it within seconds."
    left = view.counts.queued
    return f" Resume to fetch the other {left:,}." if left else ""


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def check(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    form = EditForm(request.POST)
    form.is_valid()
    order, mistakes = changed_order(crawl, form.as_changes())
    found = []
    if order:
        try:
            claim = check_max(crawl, order.claim, order)
            found = [*order_figures(order), *rendering_figures(needs_of_rendering(order, claim))]
        except BadOrder as error:
            mistakes = error.errors
    form.blame(mistakes)
    return check_answer(form, found)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def revert(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Revert an edit: the fields that it changed get their old values back."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    number = whole_number(request.POST.get("number"))
    with errors_told(request, CrawlError):
        reverted = revert_edit(crawl, number or 0, by=request.user)
        is_new = reverted.revision != crawl.revision
        messages.success(
            request,
            f"Edit {number} is taken back by revision {reverted.revision}."
            if is_new
            else "All is as it was before that edit.",
        )
    return redirect("crawling:scope", crawl.pk)


def _test_scope(request: HttpRequest, crawl: CrawlJob, form: EditForm) -> HttpResponse:
    tested, mistakes = try_changes(
        crawl, form.as_changes(), typed_entries(form.cleaned_data.get("urls", ""))[:MOST_TESTED]
    )
    if wants_fragment(request):
        return render(request, "crawling/_tested.html", {"tested": tested, "mistakes": mistakes})
    form.blame(mistakes)
    return _page(request, crawl, form, tested=tested, mistakes=mistakes)


def _preview_page(request: HttpRequest, crawl: CrawlJob, form: EditForm) -> HttpResponse:
    here: dict[str, Any] = {"is_previewed": True}
    try:
        here["preview"], here["mistakes"] = preview_changes(crawl, form.as_changes())
    except CrawlError as error:
        here["trouble"] = str(error)
    if wants_fragment(request):
        return render(request, "crawling/_preview.html", here)
    form.blame(here.get("mistakes", {}))
    return _page(request, crawl, form, **here)


def _page(request: HttpRequest, crawl: CrawlJob, form: EditForm, **facts: Any) -> HttpResponse:
    run = crawl.runs.first()
    kept_out = {row.rule: row for row in run.verdict_counts.all()} if run else {}
    exceptions = crawl.robots_exceptions.select_related("by").filter(expires_at__gt=timezone.now())
    here = {
        "crawl": crawl,
        "form": form,
        "sections": sections_of(form, unfolded=request.GET.getlist("unfolded")),
        "rules": [(rule, kept_out.get(rule.value)) for rule in Rule],
        "revisions": crawl.revisions.select_related("by")[:REVISIONS],
        "exceptions": exceptions[:EXCEPTIONS],
        "all_exceptions": exceptions.count(),
    }
    return render(request, "crawling/scope.html", here | facts)


@authenticated(needs="crawling.add_crawljob", methods=("POST",))
def test_scope(request: AuthenticatedRequest) -> HttpResponse:
    """Test addresses by the rules of a crawl that is not created yet: in the page or, without
    scripts, on a separate page.
    """
    form = form_of(request)
    asked = typed_entries(request.POST.get("urls", ""))[:MOST_TESTED]
    tested: list[RuleCheck]
    tested, mistakes = try_order(form.as_order(), asked)
    template = "crawling/_tested.html" if wants_fragment(request) else "crawling/tested.html"
    return render(request, template, {"tested": tested, "mistakes": form.in_words(mistakes)})


@authenticated(needs="crawling.add_robotsexception", methods=("POST",))
def robots(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Make an exception from a host's robots.txt, or end the exception with this number."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    number, hours = request.POST.get("end", ""), request.POST.get("hours", "")
    try:
        if number:
            row = end_exception(crawl, int(number), by=request.user)
            messages.success(request, f"The robots.txt of {row.host} holds again.")
        else:
            row = except_host(
                crawl,
                request.POST.get("host", ""),
                request.POST.get("reason", ""),
                float(hours),
                by=request.user,
            )
            messages.success(
                request,
                f"The robots.txt of {row.host} does not bind this crawl for {float(hours):g} "
                "hours.",
            )
    except ValueError:
        messages.error(request, "Hours are a number, like 24.")
    except CrawlError as error:
        messages.error(request, str(error))
    return redirect("crawling:scope", crawl.pk)
