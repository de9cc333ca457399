"""The link graph of a run as pages and files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, re_path, reverse
from redis.exceptions import RedisError

from crawling.base.errors import ArchiveTrouble, NotFound
from crawling.dashboard.base.panels import Panel, Place
from crawling.dashboard.base.requests import asked_number, of_run
from crawling.dashboard.base.trouble import errors_told
from crawling.datasets.parts import MOST_BEHIND
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Page, Run
from crawling.uses.link_graph.drawing import drawing_of, find_hosts
from crawling.uses.link_graph.exports import SHOWN, graph_file
from crawling.uses.link_graph.graph_state import state_of, wanted_graph
from crawling.uses.link_graph.graphs import LinkGraph, computed_graph
from crawling.uses.link_graph.jobs import request_graph
from crawling.uses.link_graph.lists import LISTS, ranks_of_page
from crawling.uses.link_graph.tables import ask
from serving.access import AuthenticatedRequest, needs
from serving.downloads import send
from serving.list_choices import choices_of
from serving.listing.page import asked_filters, asked_list
from serving.listing.row_list import BadListRequest
from serving.requests import asked_text, render_live

#: why a crawl that was never started has nothing here
NEVER_STARTED = "it has no links"
ROWS = 50
TITLES = {
    "pages": "Pages",
    "hosts": "Hosts",
    "drawing": "Host graph",
    "components": "Components",
}
#: of components
KINDS = {"weak": "Weakly connected", "strong": "Strongly connected"}
#: of files of pages and hosts
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet", "graphml": "GraphML"}


@of_run(NEVER_STARTED, methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """The list `?show=` of the graph, by `?sort=`; a POST asks for its computation."""
    if request.method == "POST":
        return _compute(request, run)
    shown = request.GET.get("show", "")
    shown = shown if shown in TITLES else "pages"
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "lists": TITLES,
        "shown": shown,
        "told": state_of(run),
        "kinds": KINDS,
        "wanted": asked_filters(request, ("q", "host", "component", "kind")),
        "after": asked_text(request.GET, "after", most=5000),
        "endings": ENDINGS,
        "most_behind": MOST_BEHIND,
    }
    if graph := computed_graph(run):
        try:
            here |= _drawn(request, graph) if shown == "drawing" else _listed(request, graph, shown)
        except (ArchiveTrouble, BadListRequest, LinkSearchTookTooLong) as trouble:
            here["trouble"] = str(trouble)
    return render_live(request, "link_graph/graph.html", "link_graph/_graph.html", here)


@needs("crawling.change_crawljob")
def _compute(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    with errors_told(request, RedisError):
        request_graph(run, by=request.user)
    return redirect(f"{reverse('crawling:graph', args=[run.crawl_id])}?run={run.number}")


def _drawn(request: AuthenticatedRequest, graph: LinkGraph) -> dict[str, Any]:
    """The drawing `?drawing=`, and the hosts with `?q=` in their names."""
    number, text = asked_number(request, "drawing") or 0, asked_text(request.GET, "q", most=300)
    try:
        drawing = drawing_of(graph, number)
    except NotFound as error:
        raise Http404(str(error)) from error
    found = find_hosts(graph, text, most=choices_of(request).most(ROWS)) if text else []
    return {"drawing": drawing, "found": found, "host": asked_text(request.GET, "host", most=300)}


def _listed(request: AuthenticatedRequest, graph: LinkGraph, shown: str) -> dict[str, Any]:
    return asked_list(request, LISTS[shown], partial(ask, graph), usual=ROWS)


@of_run(NEVER_STARTED)
def file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """The pages of the graph, or its hosts (`?show=hosts`)."""
    shown = request.GET.get("show", "pages")
    stem = f"crawl-{run.crawl_id}-run-{run.number}-graph"
    try:
        shown = shown if shown in SHOWN else "pages"
        wanted = asked_filters(request, ("q", "host", "component"))
        return send(graph_file(stem, wanted_graph(run), shown, kind, wanted))
    except (NotFound, ArchiveTrouble, BadListRequest) as error:
        raise Http404(str(error)) from error


urlpatterns = [
    path("<int:pk>/graph/", show, name="graph"),
    re_path(
        r"^(?P<pk>[0-9]{1,18})/graph\.(?P<kind>csv|jsonl|parquet|graphml)$",
        file,
        name="graph-file",
    ),
]


def _ranks(page: Page) -> Mapping[str, Any] | None:
    ranks = ranks_of_page(page)
    return None if ranks is None else {"ranks": ranks}


PANELS = (Panel(Place.PAGE, "link_graph/_page.html", _ranks),)
