"""Pages about a run: buttons that request a job, the lists of a job's tables, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, re_path
from redis.exceptions import RedisError

from crawling.base.errors import ArchiveTrouble, NotFound
from crawling.dashboard.base.requests import address_of
from crawling.dashboard.base.trouble import errors_told
from crawling.datasets.job_tables import JobTables, TablesOfRun
from crawling.datasets.parts import MOST_BEHIND
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Run
from serving.access import AuthenticatedRequest, needs
from serving.downloads import ENDINGS, Download, send
from serving.listing.row_list import BadListRequest
from serving.requests import asked_text, render_framed


def file_route(
    stem: str, endings: Iterable[str], view: Callable[..., HttpResponseBase]
) -> URLPattern:
    """The addresses of a crawl's files, `stem.kind`, with the route name `stem-file`."""
    pattern = rf"^(?P<pk>[0-9]{{1,18}})/{stem}\.(?P<kind>{'|'.join(endings)})$"
    return re_path(pattern, view, name=f"{stem}-file")


@needs("crawling.change_crawljob")
def ask_by_button(
    request: AuthenticatedRequest,
    ask: Callable[[], object],
    *errors: type[Exception],
    then: str | Callable[[], str],
    said: str = "",
) -> HttpResponse:
    """Request a job and redirect to the page `then`, with the message `said` or with the error.

    then: called after the request, if its address depends on the job.
    """
    with errors_told(request, *errors):
        ask()
        if said:
            messages.success(request, said)
    return redirect(then() if callable(then) else then)


def tables_page(
    request: AuthenticatedRequest,
    run: Run,
    of: TablesOfRun,
    template: str,
    facts: Callable[[JobTables], Mapping[str, Any]],
    **here: Any,
) -> HttpResponse:
    """The page about the tables that a job makes from a run. A POST requests them.

    template: extends `crawling/tables.html`. facts: returns the template's facts once there are
    tables; may raise ArchiveTrouble, BadListRequest or LinkSearchTookTooLong. here: further facts,
    among them `route`, `title` and `tab`.
    """
    here["address"] = address_of(here["route"], run)
    if request.method == "POST":
        ask = partial(of.ask, run, by=request.user)
        return ask_by_button(request, ask, RedisError, then=here["address"])
    told = of.state(run)
    here |= {"crawl": run.crawl, "run": run, "told": told, "most_behind": MOST_BEHIND}
    here = {"endings": ENDINGS, "what": of.kind.label} | here
    here["after"] = asked_text(request.GET, "after", most=5000)
    if told.tables:
        try:
            here |= facts(told.tables)
        except (ArchiveTrouble, BadListRequest, LinkSearchTookTooLong) as trouble:
            here["trouble"] = str(trouble)
    return render_framed(request, template, here)


def send_made(file: Callable[[], Download]) -> HttpResponseBase:
    """A file of a job's tables; 404 if there are no tables."""
    try:
        return send(file())
    except (NotFound, ArchiveTrouble, BadListRequest) as error:
        raise Http404(str(error)) from error
