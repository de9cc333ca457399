"""All data of a run as one page of files, and the files."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, re_path
from redis.exceptions import RedisError

from crawling.base.errors import ArchiveTrouble, NotFound, WrongState
from crawling.dashboard.base.panels import Link, Place, page_of_run
from crawling.dashboard.base.requests import address_of, of_run
from crawling.dashboard.base.run_pages import ask_by_button
from crawling.dashboard.base.trouble import errors_told
from crawling.datasets.parts import MOST_BEHIND
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from crawling.uses.bulk_data.files import bulk_file
from crawling.uses.bulk_data.offers import WORDS, offer_of, offers_of, request_file
from crawling.uses.bulk_data.tables import BY_NAME
from serving.access import AuthenticatedRequest
from serving.downloads import ENDINGS, send
from serving.requests import render_live

#: why a crawl that was never started has nothing here
HAS_NO_PAGES = "it has no data yet"


@of_run(HAS_NO_PAGES, methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """All data of a run; a POST has the file `file` made by a job, which `?then=` begins to load
    once it is there.
    """
    if request.method == "POST":
        return _make(request, run)
    offers = offers_of(run)
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "offers": offers,
        "then": _then(request, run),
        "with_mark": request.GET.get("mark") == "1",
        "most_behind": MOST_BEHIND,
        "is_open": any(one.job and one.job.is_open for one in offers),
    }
    return render_live(request, "bulk_data/download.html", "bulk_data/_files.html", here)


def _make(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    name, _, ending = request.POST.get("file", "").partition(".")
    if name not in BY_NAME or ending not in WORDS:
        messages.error(request, "That is no file of a run.")
        return redirect(address_of("crawling:download", run))
    then = f"{address_of('crawling:download', run)}&then={name}.{ending}"
    then += "&mark=1" if request.POST.get("mark") == "1" else ""
    ask = partial(request_file, run, BY_NAME[name], by=request.user)
    return ask_by_button(request, ask, RedisError, WrongState, then=then)


def _then(request: HttpRequest, run: Run) -> tuple[str, str] | None:
    """The file that a user waits for, once it is there."""
    name, _, ending = request.GET.get("then", "").partition(".")
    if name not in BY_NAME or ending not in WORDS:
        return None
    return (name, ending) if offer_of(run, BY_NAME[name]).made else None


@of_run(HAS_NO_PAGES)
def file(request: AuthenticatedRequest, run: Run, data: str, kind: str) -> HttpResponseBase:
    table = BY_NAME[data]
    if kind not in (*ENDINGS, *table.other_endings):
        raise Http404(f"There is no {kind} of {table.label.lower()}.")
    with errors_told(request, NotFound, ArchiveTrouble, LinkSearchTookTooLong):
        return send(bulk_file(run, table, kind, with_mark=request.GET.get("mark") == "1"))
    return redirect(address_of("crawling:download", run))


urlpatterns = [
    path("<int:pk>/download/", show, name="download"),
    re_path(
        rf"^(?P<pk>[0-9]{{1,18}})/download/(?P<data>{'|'.join(BY_NAME)})"
        rf"\.(?P<kind>{'|'.join(WORDS)})$",
        file,
        name="download-file",
    ),
]
LINKS = (Link(Place.DOWNLOADS, "All data", page_of_run("crawling:download")),)
