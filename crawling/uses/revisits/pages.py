"""The page about the freshness of a crawl's pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import path

from crawling.base.errors import BadOrder
from crawling.base.timed import SearchTookTooLong
from crawling.dashboard.base.panels import Link, Place, page_of_crawl
from crawling.dashboard.base.run_pages import file_route
from crawling.models import CrawlJob
from crawling.uses.revisits.expected_freshness import (
    RevisitSort,
    freshness_of,
    list_revisits,
    revisits_file,
)
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.list_choices import choices_of
from serving.requests import asked_text

ROWS = 50
#: the number of hosts that the page shows; JSON has all hosts of the plan
HOSTS = 50


@authenticated(needs="crawling.view_crawljob")
def freshness_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    sort, text, host = _requested_list(request)
    after = asked_text(request.GET, "after", most=100)
    told = freshness_of(crawl)
    here: dict[str, Any] = {
        "crawl": crawl,
        "told": told,
        "hosts": told.hosts[:HOSTS],
        "sorts": RevisitSort.choices,
        "sort": sort,
        "text": text,
        "host": host,
        "after": after,
        "filters": urlencode({"sort": sort.value, "q": text, "host": host}),
    }
    try:
        here["rows"], here["following"] = list_revisits(
            crawl, sort, text=text, host=host, after=after, most=choices_of(request).most(ROWS)
        )
    except BadOrder as error:
        raise Http404(str(error)) from error
    except SearchTookTooLong as trouble:
        here["trouble"] = str(trouble)
    return render(request, "revisits/freshness.html", here)


@authenticated(needs="crawling.view_crawljob")
def send_revisits_file(request: AuthenticatedRequest, pk: int, kind: str) -> HttpResponseBase:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    sort, text, host = _requested_list(request)
    return send(revisits_file(crawl, kind, sort, text=text, host=host))


def _requested_list(request: HttpRequest) -> tuple[RevisitSort, str, str]:
    """The order of the list, a part of the addresses, and the host, as the request states them."""
    asked = request.GET.get("sort", "")
    sort = RevisitSort(asked) if asked in RevisitSort.values else RevisitSort.NEXT
    text, host = (asked_text(request.GET, name, most=300) for name in ("q", "host"))
    return sort, text, host


urlpatterns = [
    path("<int:pk>/freshness/", freshness_page, name="freshness"),
    file_route("freshness", ("csv", "jsonl"), send_revisits_file),
]


LINKS = (Link(Place.DATA, "Freshness", page_of_crawl("crawling:freshness")),)
