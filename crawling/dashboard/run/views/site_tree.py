"""A run's sites as a tree of directories."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render

from crawling.dashboard.base.requests import asked_run, wanted_run
from crawling.dashboard.run.site_tree import site_tree, tree_file
from crawling.models import CrawlJob
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.requests import asked_text

LONGEST_PATH = 2000


@authenticated(needs="crawling.view_crawljob")
def show(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Directories of the hosts with their counts and sizes; `?path=` shows the contents of one."""
    job = get_object_or_404(CrawlJob, pk=pk)
    run = asked_run(request, job)
    tree = site_tree(run, _path(request)) if run else None
    return render(request, "crawling/site_tree.html", {"crawl": job, "run": run, "tree": tree})


@authenticated(needs="crawling.view_crawljob")
def numbers(request: AuthenticatedRequest, pk: int) -> StreamingHttpResponse:
    """The same as CSV."""
    run = wanted_run(request, pk, "it has no site tree yet")
    return send(tree_file(f"crawl-{pk}-run-{run.number}-tree", site_tree(run, _path(request))))


def _path(request: HttpRequest) -> str:
    path = asked_text(request.GET, "path", most=LONGEST_PATH)
    return path if not path or path.endswith("/") else f"{path}/"
