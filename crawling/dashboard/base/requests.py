"""Objects that the address of a page's request names: crawls, and their runs and pages by number.
Also the page to which a button leads back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from allocation.wording import whole_number
from crawling.base.errors import NotFound, UnknownCrawl, UnknownRun, Withdrawn
from crawling.models import CrawlJob, Page, Run, Url, WithdrawnPage
from serving.access import AuthenticatedRequest, authenticated
from serving.listing.sources import records_of

M = TypeVar("M", bound=Model)
View = Callable[..., HttpResponseBase]


def get_crawl(crawl_id: int) -> CrawlJob:
    """Raises UnknownCrawl."""
    crawl = CrawlJob.objects.filter(pk=crawl_id).first()
    if crawl is None:
        raise UnknownCrawl(f"There is no crawl {crawl_id}.")
    return crawl


def get_run(crawl_id: int, number: int | None) -> Run:
    """The run with this number, or the latest. Raises UnknownCrawl or UnknownRun."""
    runs = Run.objects.select_related("crawl").filter(crawl=get_crawl(crawl_id))
    run = (runs if number is None else runs.filter(number=number)).order_by("-pk").first()
    if run is None:
        raise UnknownRun(
            f"Crawl {crawl_id} has "
            f"{'never been started' if number is None else f'no run {number}'}."
        )
    return run


def get_page(crawl_id: int, page_id: int) -> Page:
    """A page of any of the crawl's runs, with the rows that lead to its archive file.

    Raises NotFound, and Withdrawn if it was withdrawn.
    """
    page = (
        Page.objects.select_related("url", "run__crawl", "archive_file")
        .filter(pk=page_id, run__crawl=crawl_id, run__removal_asked_at=None)
        .first()
    )
    if page is None:
        gone = WithdrawnPage.objects.select_related("withdrawal", "url")
        if found := gone.filter(url=page_id, run__crawl=crawl_id).order_by("-pk").first():
            raise Withdrawn(
                f"{found.url.url} was taken down on {found.withdrawal.asked_at:%d %B %Y}."
            )
        raise NotFound(f"Crawl {crawl_id} has no page {page_id}.")
    return page


def get_page_of_any(page_id: int) -> Page:
    """A page of any crawl, since all users may read all crawls. Raises NotFound, and Withdrawn."""
    url = Url.objects.filter(pk=page_id).values_list("run__crawl", flat=True).first()
    if url is None:
        raise NotFound(f"There is no page {page_id}.")
    return get_page(url, page_id)


def address_of(route: str, run: Run) -> str:
    """The address of the page at this route about a run."""
    return f"{reverse(route, args=[run.crawl_id])}?run={run.number}"


def asked_run(request: HttpRequest, job: CrawlJob) -> Run | None:
    """The requested run, or the latest; None if the crawl was never started."""
    number = asked_number(request, "run")
    if number is None:
        return job.runs.select_related("crawl__schedule").first()
    return get_object_or_404(job.runs.select_related("crawl__schedule"), number=number)


def wanted_run(request: HttpRequest, crawl: int, consequence: str) -> Run:
    """The requested run of a crawl, or the latest.

    consequence: the end of the sentence about a crawl that was never started. Raises Http404.
    """
    job = get_object_or_404(CrawlJob, pk=crawl)
    run = asked_run(request, job)
    if run is None:
        raise Http404(f"{job.name} has never been started, so {consequence}.")
    return run


def of_run(
    consequence: str, *, needs: str = "crawling.view_crawljob", methods: Sequence[str] = ("GET",)
) -> Callable[[View], View]:
    """Guard a page about a run as `authenticated` does. The view gets the run of `wanted_run` as an
    argument, and not `pk`, the id of the crawl.
    """

    def guard(view: View) -> View:
        @wraps(view)
        @authenticated(needs=needs, methods=methods)
        def guarded(request: AuthenticatedRequest, /, pk: int, **named: Any) -> HttpResponseBase:
            return view(request, wanted_run(request, pk, consequence), **named)

        return guarded

    return guard


def wanted_page(crawl: int, page: int) -> Page:
    """A page of a crawl, by their ids. Raises Http404, and Withdrawn (410)."""
    with _not_found_as_404():
        return get_page(crawl, page)


def wanted_page_of_any(page: int) -> Page:
    """A page of any crawl. Raises Http404, and Withdrawn (410)."""
    with _not_found_as_404():
        return get_page_of_any(page)


@contextmanager
def _not_found_as_404() -> Iterator[None]:
    try:
        yield
    except Withdrawn:
        raise
    except NotFound as error:
        raise Http404(str(error)) from error


def asked_number(request: HttpRequest, name: str) -> int | None:
    """A number from the address; None if it is invalid or missing."""
    return whole_number(request.GET.get(name, ""))


def latest_asked(request: HttpRequest, found: QuerySet[M], most: int) -> dict[str, Any]:
    """The records that a page of a list shows, the latest first, from before `?before=` on, and the
    id before which older records follow.
    """
    before = asked_number(request, "before")
    rows, older = records_of(found, after="" if before is None else str(before), most=most)
    return {"rows": rows, "older": older, "before": before}


def asked_ids(request: HttpRequest, name: str) -> list[int]:
    """The ids that are ticked in a form or listed in the address. Invalid ids are ignored."""
    asked = request.POST if request.method == "POST" else request.GET
    numbers = (whole_number(text) for text in asked.getlist(name))
    return [number for number in numbers if number is not None]


def redirect_back(request: HttpRequest) -> HttpResponse:
    """Redirect to the page with the button; to the list of crawls if that is not one of our
    pages.
    """
    return redirect(next_page(request) or "crawling:crawls")


def next_page(request: HttpRequest) -> str:
    """The address of the next page that a form names; "" if it is not one of our pages."""
    return _our_page(request, request.POST.get("next", ""))


def page_to_return_to(request: HttpRequest) -> str:
    """The page from which a link led here, as `?next=`; "" if it is not one of our pages."""
    return _our_page(request, request.GET.get("next", ""))


def _our_page(request: HttpRequest, page: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(
        page, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return page if is_ours else ""
