"""The page about copies of a run's pages: clusters, and pages with passages of a supplied text."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse

from crawling.base.errors import BadOrder, InquiriesBusy, NotFound, UnknownCrawl, UnknownRun
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.panels import Link, Place, page_of_run
from crawling.dashboard.base.requests import (
    address_of,
    asked_number,
    get_run,
    of_run,
    wanted_page,
)
from crawling.dashboard.base.trouble import errors_told
from crawling.models import Inquiry, Page, Run
from crawling.uses.copies.jobs import (
    MOST_BYTES,
    clusters_of_inquiry,
    page_of_any_crawl,
    pages_of_inquiry,
    request_clusters,
    request_passages,
    request_text_search,
    shared_text_of_inquiry,
    text_inquiry,
)
from serving.access import AuthenticatedRequest, authenticated
from serving.list_choices import choices_of
from serving.requests import asked_text, render_live

#: the reason why a crawl that was never started has no copies
HAS_NO_PAGES = "it has no pages yet"
ROWS = 20
#: the number of runs to choose from
RUNS = 50
KINDS = {"near": "The same or nearly the same text", "exact": "The same content"}


@of_run(HAS_NO_PAGES, methods=("GET", "HEAD", "POST"))
def copies_page(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show clusters of copies (`?kind=`) in the run, or between the run and run `?against=` of the
    crawl `?other=`. A POST supplies a text.
    """
    if request.method == "POST":
        return _request_supplied_text(request, run)
    here, trouble = _cluster_facts(request, run), ""
    skip, most = asked_number(request, "skip") or 0, choices_of(request).most(ROWS)
    try:
        against = here["against"] = _second_run(request, run)
        inquiry = request_clusters(
            run, against, near=here["kind"] == "near", skip=skip, most=most, by=request.user
        )
        here |= {"inquiry": inquiry, "found": clusters_of_inquiry(inquiry), "skip": skip}
        trouble = inquiry.why_failed
        if here["found"] and here["found"].count > skip + most:
            here["following"] = skip + most
    except (NotFound, UnknownRun, InquiriesBusy) as error:
        trouble = str(error)
    return render_live(
        request, "copies/copies.html", "copies/_copies.html", here | {"trouble": trouble}
    )


def _cluster_facts(request: AuthenticatedRequest, run: Run) -> dict[str, Any]:
    kind = request.GET.get("kind", "near")
    return {
        "crawl": run.crawl,
        "run": run,
        "runs": run.crawl.runs.exclude(pk=run.pk)[:RUNS],
        "kinds": KINDS,
        "kind": kind if kind in KINDS else "near",
        "other": asked_text(request.GET, "other"),
    }


def _second_run(request: AuthenticatedRequest, run: Run) -> Run | None:
    """The second run in the request; None if there is none. Raises NotFound or UnknownRun."""
    other, number = asked_text(request.GET, "other"), asked_number(request, "against")
    if not other and number is None:
        return None
    try:
        crawl = find_crawl(other) if other else run.crawl
    except UnknownCrawl as error:
        raise NotFound(f"There is no crawl “{other}”: enter its name or number.") from error
    against = get_run(crawl.pk, number)
    return None if against.pk == run.pk else against


def _request_supplied_text(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    text, file = str(request.POST.get("text", "")), request.FILES.get("file")
    with errors_told(request, BadOrder, InquiriesBusy):
        if file is not None:
            text = file.read(MOST_BYTES + 1).decode(errors="replace")
        inquiry = request_text_search(text.replace("\0", ""), run, by=request.user)
        address = reverse("crawling:text-copies", args=[run.crawl_id, inquiry.pk])
        return redirect(f"{address}?run={run.number}")
    return redirect(address_of("crawling:copies", run))


@of_run(HAS_NO_PAGES)
def copies_of_text_page(request: AuthenticatedRequest, run: Run, text: int) -> HttpResponse:
    """Show the pages with passages of a text, to the user who supplied it."""
    try:
        inquiry = text_inquiry(text, run.crawl_id, by=request.user)
    except NotFound as error:
        raise Http404(str(error)) from error
    here: dict[str, Any] = {"crawl": run.crawl, "run": run, "inquiry": inquiry}
    here |= {"pages": pages_of_inquiry(inquiry), "trouble": inquiry.why_failed}
    return render_live(request, "copies/text_copies.html", "copies/_text_copies.html", here)


@authenticated(needs="crawling.view_crawljob")
def passages_page(request: AuthenticatedRequest, pk: int, old: int, new: int) -> HttpResponse:
    """Show a page of the crawl side by side with a page of any crawl, `old`."""
    try:
        other = page_of_any_crawl(old)
    except NotFound as error:
        raise Http404(str(error)) from error
    page = wanted_page(pk, new)
    inquiry = request_passages(page, other, None, by=request.user)
    return _side_by_side(request, page, inquiry, {"other": other})


@authenticated(needs="crawling.view_crawljob")
def text_passages_page(request: AuthenticatedRequest, pk: int, text: int, new: int) -> HttpResponse:
    """Show a page side by side with a text, to the user who supplied it."""
    page = wanted_page(pk, new)
    try:
        supplied = text_inquiry(text, pk, by=request.user)
    except NotFound as error:
        raise Http404(str(error)) from error
    inquiry = request_passages(page, None, supplied, by=request.user)
    return _side_by_side(request, page, inquiry, {"text": text})


def _side_by_side(
    request: AuthenticatedRequest, page: Page, inquiry: Inquiry, beside: dict[str, Any]
) -> HttpResponse:
    here = {"crawl": page.run.crawl, "run": page.run, "page": page, "inquiry": inquiry} | beside
    here |= {"shared": shared_text_of_inquiry(inquiry), "trouble": inquiry.why_failed}
    return render_live(request, "copies/passages.html", "copies/_passages.html", here)


urlpatterns = [
    path("<int:pk>/copies/", copies_page, name="copies"),
    path("<int:pk>/copies/text/<int:text>/", copies_of_text_page, name="text-copies"),
    path(
        "<int:pk>/copies/text/<int:text>/<int:new>/",
        text_passages_page,
        name="text-passages",
    ),
    path("<int:pk>/copies/passages/<int:old>/<int:new>/", passages_page, name="passages"),
]


LINKS = (Link(Place.DUPLICATES, "Clusters", page_of_run("crawling:copies")),)
