"""The link graph of a run as pages and files."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from redis.exceptions import RedisError

from crawling.dashboard.base.requests import asked_number, of_run
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.graph.drawing import drawing_of, find_hosts
from crawling.dashboard.graph.exports import SHOWN, graph_file
from crawling.dashboard.graph.graph_state import state_of, wanted_graph
from crawling.dashboard.graph.ranked_lists import (
    ComponentKind,
    RankFilter,
    RankSort,
    list_components,
    list_hosts,
    list_pages,
)
from crawling.errors import ArchiveTrouble, BadOrder, NotFound
from crawling.link_graph.graphs import LinkGraph, computed_graph
from crawling.link_graph.jobs import ask_graph
from crawling.links.parts import MOST_BEHIND
from crawling.links.query import LinkSearchTookTooLong
from crawling.models import Run
from serving.access import AuthenticatedRequest, needs
from serving.downloads import send
from serving.list_choices import choices_of
from serving.requests import asked_text, render_live

#: why a crawl that was never started has nothing here
NEVER_STARTED = "it has no links"
ROWS = 50
LISTS = {
    "pages": "Pages",
    "hosts": "Hosts",
    "drawing": "Host graph",
    "components": "Components",
}
#: of files of pages and hosts
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet", "graphml": "GraphML"}


@of_run(NEVER_STARTED, methods=("GET", "HEAD", "POST"))
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """The list `?show=` of the graph, by `?sort=`; a POST asks for its computation."""
    if request.method == "POST":
        return _compute(request, run)
    shown = request.GET.get("show", "")
    shown = shown if shown in LISTS else "pages"
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "lists": LISTS,
        "shown": shown,
        "told": state_of(run),
        "sorts": RankSort.choices,
        "sort": _sort(request),
        "kinds": ComponentKind.choices,
        "kind": _kind(request),
        "wanted": _filter(request),
        "after": asked_text(request.GET, "after", most=5000),
        "endings": ENDINGS,
        "most_behind": MOST_BEHIND,
    }
    if graph := computed_graph(run):
        try:
            here |= _drawn(request, graph) if shown == "drawing" else _rows(request, graph, shown)
        except (ArchiveTrouble, BadOrder, LinkSearchTookTooLong) as trouble:
            here["trouble"] = str(trouble)
    return render_live(request, "crawling/graph.html", "crawling/_graph.html", here)


@needs("crawling.change_crawljob")
def _compute(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    with errors_told(request, RedisError):
        ask_graph(run, by=request.user)
    return redirect(f"{reverse('crawling:graph', args=[run.crawl_id])}?run={run.number}")


def _drawn(request: AuthenticatedRequest, graph: LinkGraph) -> dict[str, Any]:
    """The drawing `?drawing=`, and the hosts with `?q=` in their names."""
    number, text = asked_number(request, "drawing") or 0, _filter(request).text
    try:
        drawing = drawing_of(graph, number)
    except NotFound as error:
        raise Http404(str(error)) from error
    found = find_hosts(graph, text, most=choices_of(request).most(ROWS)) if text else []
    return {"drawing": drawing, "found": found, "host": _filter(request).host}


def _rows(request: AuthenticatedRequest, graph: LinkGraph, shown: str) -> dict[str, Any]:
    """The rows of a list, and the key behind which more follow."""
    most, after = choices_of(request).most(ROWS), asked_text(request.GET, "after", most=5000)
    if shown == "components":
        number = asked_number(request, "after") or 0
        components = list_components(graph, _kind(request), after=number, most=most)
        return dict(zip(("rows", "following"), components, strict=True))
    ranked = list_pages if shown == "pages" else list_hosts
    found = ranked(graph, _sort(request), _filter(request), after=after, most=most)
    return dict(zip(("rows", "following"), found, strict=True))


def _sort(request: AuthenticatedRequest) -> RankSort:
    """The column asked for; nonsense counts as not given."""
    asked = request.GET.get("sort", "")
    return RankSort(asked) if asked in RankSort.values else RankSort.PAGERANK


def _kind(request: AuthenticatedRequest) -> ComponentKind:
    asked = request.GET.get("kind", "")
    return ComponentKind(asked) if asked in ComponentKind.values else ComponentKind.WEAK


def _filter(request: AuthenticatedRequest) -> RankFilter:
    text, host, component = (
        asked_text(request.GET, name, most=300) for name in ("q", "host", "component")
    )
    return RankFilter(text, host, component)


@of_run(NEVER_STARTED)
def file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """The pages of the graph, or its hosts (`?show=hosts`)."""
    shown = request.GET.get("show", "pages")
    stem = f"crawl-{run.crawl_id}-run-{run.number}-graph"
    try:
        shown = shown if shown in SHOWN else "pages"
        return send(graph_file(stem, wanted_graph(run), shown, kind, _filter(request)))
    except (NotFound, ArchiveTrouble, BadOrder) as error:
        raise Http404(str(error)) from error
