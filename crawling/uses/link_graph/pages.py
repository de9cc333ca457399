"""The link graph of a run as pages and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path

from crawling.base.errors import NotFound
from crawling.dashboard.base.panels import Link, Panel, Place
from crawling.dashboard.base.requests import address_of, asked_number, of_run
from crawling.dashboard.base.run_pages import file_route, send_made, tables_page
from crawling.datasets.job_tables import JobTables
from crawling.models import Page, Run
from crawling.uses.link_graph.drawing import drawing_of, find_hosts
from crawling.uses.link_graph.exports import ENDINGS, SHOWN, graph_file
from crawling.uses.link_graph.lists import GRAPH, LISTS, ranks_of_page
from serving.access import AuthenticatedRequest
from serving.list_choices import choices_of
from serving.listing.page import asked_filters, asked_list
from serving.requests import asked_text

#: the reason why a crawl that was never started has no link graph
NEVER_STARTED = "it has no links"
ROWS = 50
TITLES = {
    "pages": "Page ranks",
    "hosts": "Host ranks",
    "drawing": "Host graph",
    "components": "Components",
}
#: the words for the kinds of components
KINDS = {"weak": "Weakly connected", "strong": "Strongly connected"}


@of_run(NEVER_STARTED, methods=("GET", "HEAD", "POST"))
def link_graph_page(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the list `?show=` of the graph, sorted by `?sort=`. A POST requests its computation."""
    shown = request.GET.get("show", "")
    shown = shown if shown in TITLES else "pages"

    def graph_facts(graph: JobTables) -> dict[str, Any]:
        if shown == "drawing":
            return _drawing_facts(request, graph)
        return asked_list(request, LISTS[shown], graph.ask, usual=ROWS)

    return tables_page(
        request,
        run,
        GRAPH,
        "link_graph/graph.html",
        graph_facts,
        route="crawling:graph",
        title=TITLES[shown],
        tab="links",
        shown=shown,
        kinds=KINDS,
        wanted=asked_filters(request, ("q", "host", "component", "kind")),
        endings=ENDINGS,
    )


def _drawing_facts(request: AuthenticatedRequest, graph: JobTables) -> dict[str, Any]:
    """The facts about the drawing `?drawing=`, and the hosts with `?q=` in their names."""
    number, text = asked_number(request, "drawing") or 0, asked_text(request.GET, "q", most=300)
    try:
        drawing = drawing_of(graph, number)
    except NotFound as error:
        raise Http404(str(error)) from error
    found = find_hosts(graph, text, most=choices_of(request).most(ROWS)) if text else []
    return {"drawing": drawing, "found": found, "host": asked_text(request.GET, "host", most=300)}


@of_run(NEVER_STARTED)
def send_graph_file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """Send the pages of the graph, or its hosts (`?show=hosts`)."""
    shown = request.GET.get("show", "pages")
    shown = shown if shown in SHOWN else "pages"
    stem = f"crawl-{run.crawl_id}-run-{run.number}-graph"
    wanted = asked_filters(request, ("q", "host", "component"))
    return send_made(lambda: graph_file(stem, GRAPH.wanted(run), shown, kind, wanted))


urlpatterns = [
    path("<int:pk>/graph/", link_graph_page, name="graph"),
    file_route("graph", ENDINGS, send_graph_file),
]


def _ranks_panel(page: Page) -> Mapping[str, Any] | None:
    ranks = ranks_of_page(page)
    return None if ranks is None else {"ranks": ranks}


def _address_of_list(name: str) -> Callable[[Run, int], str]:
    return lambda run, crawl: f"{address_of('crawling:graph', run)}&show={name}"


LINKS = tuple(Link(Place.LINKS, words, _address_of_list(name)) for name, words in TITLES.items())
PANELS = (Panel(Place.PAGE, "link_graph/_page.html", _ranks_panel),)
