"""The frontier of a run: its waiting URLs are listed, moved to the front or to the end, taken out,
put back, and exported. Also the run's sites as a tree of directories.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from crawling.base.errors import CrawlError
from crawling.base.timed import SearchTookTooLong
from crawling.dashboard.base.requests import asked_ids, asked_run, of_run
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.run.site_tree import site_tree, tree_file
from crawling.frontier.change.manual_order import UrlAction
from crawling.models import CrawlJob, Run, Url
from crawling.models.jobs import ENDED_STATES
from crawling.runs.waiting_urls import (
    DONE,
    PLACES,
    TAKEN_OUT,
    WAITING,
    FrontierFilter,
    change_found_urls,
    change_urls,
    changeable_count,
    frontier_of,
    url_lines,
    waiting_count,
)
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.downloads import send, text_file
from serving.requests import asked_text

SHOWN = 100
#: the actions on the URLs of each list, and the words on their buttons
DEEDS = {
    WAITING: {
        UrlAction.FIRST: "Move to front",
        UrlAction.USUAL: "Default order",
        UrlAction.LAST: "Move to end",
        UrlAction.TAKE_OUT: "Remove",
    },
    TAKEN_OUT: {UrlAction.PUT_BACK: "Put back"},
}
LONGEST_PATH = 2000


@of_run("it has no queue yet", methods=("GET", "HEAD", "POST"))
def frontier(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Show the frontier of the latest run, or of `?run=`: the URLs of the list `?place=` on
    `?host=` that contain `?q=`, after the URL `?after=`.
    """
    if request.method == "POST":
        return _handle(request, run)
    wanted = FrontierFilter.read(request.GET)
    urls: list[Url] = []
    following = None
    with errors_told(request, SearchTookTooLong):
        urls, following = frontier_of(run, wanted, most=SHOWN)
    here = {
        "crawl": run.crawl,
        "run": run,
        "wanted": wanted,
        "urls": urls,
        "following": following,
        "places": PLACES,
    }
    is_open = run.state not in ENDED_STATES and request.user.has_perm("crawling.change_crawljob")
    here |= {"deeds": DEEDS.get(wanted.place, {}) if is_open else {}, "waiting": waiting_count(run)}
    return render(request, "crawling/frontier.html", here)


@of_run("it has no queue yet")
def text(request: AuthenticatedRequest, run: Run) -> StreamingHttpResponse:
    """Send all URLs that the page would list, one a line."""
    lines = url_lines(run, FrontierFilter.read(request.GET))
    return send(text_file(f"frontier-{run.crawl_id}-run-{run.number}", lines))


@needs("crawling.change_crawljob")
def _handle(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """Apply the action to the ticked URLs or, once confirmed, to all found URLs."""
    wanted, name = FrontierFilter.read(request.POST), request.POST.get("deed", "")
    address = f"{reverse('crawling:frontier', args=[run.crawl_id])}?{request.POST.get('query', '')}"
    deed = next((deed for deed in DEEDS.get(wanted.place, {}) if deed == name), None)
    if deed is None:
        messages.error(request, "Choose what to do with them by one of the buttons.")
        return redirect(address)
    is_all = request.POST.get("which") == "all"
    with errors_told(request, CrawlError):
        if is_all and "confirmed" not in request.POST:
            count, is_more = changeable_count(run, wanted)
            here = {
                "crawl": run.crawl,
                "run": run,
                "wanted": wanted,
                "deed": deed,
                "words": DEEDS[wanted.place][deed],
            }
            here |= {
                "count": count,
                "is_more": is_more,
                "query": request.POST.get("query", ""),
                "back": address,
            }
            return render(request, "crawling/frontier_all.html", here)
        if is_all:
            count, is_more = change_found_urls(run, deed, wanted, by=request.user)
        else:
            ids = asked_ids(request, "url")
            count, is_more = change_urls(run, deed, ids, by=request.user), False
        _message_result(request, deed, count, is_more=is_more)
    return redirect(address)


def _message_result(request: HttpRequest, deed: UrlAction, count: int, *, is_more: bool) -> None:
    if not count:
        messages.error(
            request, "Nothing has changed: tick some that this fits, or choose all found."
        )
        return
    more = " There are more of them; do it again for the rest." if is_more else ""
    messages.success(request, f"{count:,} URL{'s' if count > 1 else ''} {DONE[deed]}.{more}")


@authenticated(needs="crawling.view_crawljob")
def show_tree(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show the directories of the hosts with their counts and sizes. `?path=` shows the contents of
    one directory.
    """
    job = get_object_or_404(CrawlJob, pk=pk)
    run = asked_run(request, job)
    tree = site_tree(run, _directory_path(request)) if run else None
    return render(request, "crawling/site_tree.html", {"crawl": job, "run": run, "tree": tree})


@of_run("it has no site tree yet")
def tree_numbers(request: AuthenticatedRequest, run: Run) -> StreamingHttpResponse:
    return send(
        tree_file(
            f"crawl-{run.crawl_id}-run-{run.number}-tree", site_tree(run, _directory_path(request))
        )
    )


def _directory_path(request: HttpRequest) -> str:
    path = asked_text(request.GET, "path", most=LONGEST_PATH)
    return path if not path or path.endswith("/") else f"{path}/"
