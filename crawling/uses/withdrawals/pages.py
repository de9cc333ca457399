"""The withdrawals of a crawl: a list, a form with a preview of its pages, and the actions on
each.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone

from allocation.wording import whole_number
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.panels import Link, Place, form_with_page, page_of_crawl
from crawling.dashboard.base.requests import latest_asked
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.models import CrawlJob, Run, Withdrawal
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.uses.withdrawals.withdrawing import (
    remove_records_now,
    undo_withdrawal,
    withdraw_pages,
    withdrawal_preview,
)
from serving.access import AuthenticatedRequest, authenticated, needs

SHOWN = 100
#: a kind of rule, its words, and an example
KINDS = (
    (UrlRuleKind.PAGE, "one page", "https://example.org/people/miller"),
    (UrlRuleKind.PATTERN, "all addresses that hold this expression (RE2)", "/people/.*miller"),
    (UrlRuleKind.HOST, "one host", "www.example.org"),
)
FIELDS = ("kind", "text", "run", "reason", "at_once")


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def withdrawals_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    here: dict[str, Any] = {}
    if request.method == "POST":
        here = _form_facts(request, crawl)
        if not here:
            return redirect("crawling:withdrawals", pk)
    found = Withdrawal.objects.filter(crawl=crawl).select_related("by", "run")
    typed = request.POST if request.method == "POST" else request.GET
    here |= {
        "crawl": crawl,
        **latest_asked(request, found, SHOWN),
        "now": timezone.now(),
        "kinds": KINDS,
        "typed": {name: typed.get(name, "") for name in FIELDS},
    }
    return render(request, "withdrawals/withdrawals.html", here)


@needs("crawling.delete_crawljob")
def _form_facts(request: AuthenticatedRequest, crawl: CrawlJob) -> dict[str, Any]:
    """Withdraw the pages if the form asks for it, and return {}. Otherwise return the mistakes by
    field, or the preview.
    """
    kind, text = (request.POST.get(name, "") for name in ("kind", "text"))
    errors: dict[str, str] = {}
    with mistakes_kept(errors, CrawlError):
        run = _requested_run(request, crawl)
        if "withdraw" not in request.POST:
            return {"preview": withdrawal_preview(crawl, run, kind=kind, text=text)}
        withdrawal = withdraw_pages(
            crawl,
            run,
            kind=kind,
            text=text,
            reason=request.POST.get("reason", ""),
            by=request.user,
            at_once="at_once" in request.POST,
        )
        messages.success(
            request, f"{withdrawal.pages:,} page{'' if withdrawal.pages == 1 else 's'} taken down."
        )
        return {}
    return {"errors": errors}


def _requested_run(request: AuthenticatedRequest, crawl: CrawlJob) -> Run | None:
    """Raises BadOrder."""
    typed = request.POST.get("run", "").strip()
    if not typed:
        return None
    number = whole_number(typed)
    run = None if number is None else crawl.runs.filter(number=number).first()
    if run is None:
        raise BadOrder({"run": "must be the number of a run of the crawl, or empty: all runs"})
    return run


@authenticated(needs="crawling.delete_crawljob", methods=("POST",))
def change_withdrawal(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    with errors_told(request, CrawlError):
        if "rewrite" in request.POST:
            remove_records_now(crawl, number, by=request.user)
            messages.success(request, "The files are being rewritten.")
        else:
            withdrawal = undo_withdrawal(crawl, number, by=request.user)
            messages.success(request, f"{withdrawal.pages:,} pages are back.")
    return redirect("crawling:withdrawals", pk)


urlpatterns = [
    path("<int:pk>/withdrawals/", withdrawals_page, name="withdrawals"),
    path("<int:pk>/withdrawals/<int:number>/", change_withdrawal, name="withdrawal"),
]


LINKS = (
    Link(Place.DATA, "Taken down", page_of_crawl("crawling:withdrawals")),
    Link(
        Place.PAGE_MENU,
        "Take down",
        form_with_page("crawling:withdrawals"),
        needs="crawling.delete_crawljob",
    ),
)
