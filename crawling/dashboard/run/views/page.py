"""The page of a crawl: its state with the reason, its progress, and the possible actions. Also the
full lists of its pages and hosts.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from allocation.wording import whole_number
from crawling.base.errors import CrawlError
from crawling.base.timed import SearchTookTooLong
from crawling.dashboard.base.columns import SPAN, ListPlace, chips_of, column_head
from crawling.dashboard.base.lags import read_lag
from crawling.dashboard.base.requests import asked_number, asked_run, of_run, redirect_back
from crawling.dashboard.base.schedule import plan_in, plan_of
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.pages.field_columns import MOST_CHOSEN, asked_fields, with_cells
from crawling.dashboard.pages.filter import requested_page_filter
from crawling.dashboard.pages.page_kinds import PageKind
from crawling.dashboard.pages.rendering_filter import RenderingFilter
from crawling.dashboard.run.crawl_settings import settings_of
from crawling.dashboard.run.first_page import results_address
from crawling.dashboard.run.hosts import (
    MOST_TO_DO,
    SORTS,
    HostScope,
    has_others,
    host_counts,
    host_rows,
    hosts_page,
)
from crawling.dashboard.run.log import LEVEL_WORDS, SEARCHED, LogFilter
from crawling.dashboard.run.overview import empty_page, latest_runs, run_page
from crawling.dashboard.run.pages import (
    LATEST_FIRST,
    SORT_WORDS,
    PageWindow,
    page_count,
    pages_of,
)
from crawling.datasets.extracted_fields import field_rules
from crawling.datasets.lag import Derived
from crawling.models import CrawlJob, Run
from crawling.runs.waiting_urls import retry_failed
from serving.access import AuthenticatedRequest, authenticated
from serving.list_choices import choices_of
from serving.requests import asked_text, render_live, wants_fragment

PAGES, HOSTS = 100, 100
#: the filters of the list of pages, and their words
PAGE_FILTERS = {
    "q": "Contains",
    "status": "Status",
    "type": "Type",
    "unread": "Show",
    "rendering": "Rendering",
    **SPAN,
}
#: the words for the values of filters
PAGE_WORDS = {
    "type": dict(PageKind.choices),
    "unread": {"1": "incomplete only"},
    "rendering": dict(RenderingFilter.choices),
}
#: sort keys of pages, with their heads
PAGE_COLUMNS = (
    ("status", "Status", False),
    ("type", "Type", False),
    ("size", "Size", True),
    ("fetched", "Fetched", False),
)
#: sort keys of hosts, with their heads
HOST_COLUMNS = (("host", "Host", False), ("queued", "Queued", True), ("done", "Done", True))


@authenticated(needs="crawling.view_crawljob")
def crawl(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show the latest run, or run `?run=`, with the lines of its log of at least `?level=` that
    contain `?text=`, before the line `?before=`. Without a query, a crawl with a purpose redirects
    to its results; `?overview` prevents that.
    """
    job = get_object_or_404(CrawlJob.objects.select_related("schedule"), pk=pk)
    schedule = getattr(job, "schedule", None)
    runs = latest_runs(job)
    first = results_address(job, next(iter(runs), None))
    if first and not request.GET and not wants_fragment(request):
        return redirect(first)
    run = asked_run(request, job) if "run" in request.GET else next(iter(runs), None)
    lines, before = LogFilter.read(request.GET), asked_number(request, "before")
    page, stall = run_page(run, runs, lines, before=before) if run else (empty_page(job), None)
    here = {
        "page": page,
        "asked": lines,
        "before": before,
        "levels": LEVEL_WORDS.items(),
        "searched": SEARCHED,
        "stall": stall,
        "plan": plan_in(schedule, with_starts=False) if schedule else None,
    }
    return render_live(request, "crawling/crawl.html", "crawling/_crawl.html", here)


@authenticated(needs="crawling.view_crawljob")
def settings(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    job = get_object_or_404(CrawlJob, pk=pk)
    return render(
        request,
        "crawling/settings.html",
        {"crawl": job, "page": settings_of(job), "plan": plan_of(job)},
    )


@authenticated(needs="crawling.view_crawljob")
def pages(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """List the pages of a run that match the filter (`requested_page_filter`), sorted by `?sort=`,
    after the page `?after=` or just before `?before=`. `?page=` is the number of this page of the
    list.
    """
    job = get_object_or_404(CrawlJob, pk=pk)
    run, wanted, sort = (
        asked_run(request, job),
        requested_page_filter(request),
        request.GET.get("sort", ""),
    )
    sort = sort if sort in SORT_WORDS else LATEST_FIRST
    window, count, most = PageWindow(), 0, choices_of(request).most(PAGES)
    after, before = (asked_number(request, name) for name in ("after", "before"))
    if run:
        with errors_told(request, SearchTookTooLong):
            window = pages_of(run, wanted, most=most, sort=sort, after=after, before=before)
            count = page_count(run, wanted)
    # The statuses have no numbers: the number of URLs with a status is not the number of pages.
    # Some URLs failed after their answer (a loop of redirects), and some pages are withdrawn.
    counted = (
        run.status_counts.filter(urls__gt=0, status__gt=0).values_list("status") if run else []
    )
    here: dict[str, object] = {
        "crawl": job,
        "run": run,
        "window": window,
        "wanted": wanted,
        "statuses": [str(code) for (code,) in sorted(set(counted))],
    }
    named = sorted(field_rules(run).rules) if run else []
    chosen = asked_fields(request, job, named)
    if run and chosen:
        with_cells(run, window.pages, chosen)
        here["lag"] = read_lag(run, Derived.FIELDS)
    here |= {"fields": chosen, "choice": [(name, name in chosen) for name in named]}
    here["most_fields"] = MOST_CHOSEN
    here["chips"] = chips_of(request.GET, PAGE_FILTERS, PAGE_WORDS)
    here["reset"] = f"?run={run.number}" if run else "?"
    here["hidden"] = choices_of(request).hidden.get("pages", ())
    here |= {"kinds": PageKind.choices, "sort": sort, "sorts": SORT_WORDS.items()}
    here["renderings"] = RenderingFilter.choices
    here["columns"] = {
        key: column_head(key, label, is_number, now=sort, falls_first=key != "type")
        for key, label, is_number in PAGE_COLUMNS
    }
    number = (asked_number(request, "page") or 1) if window.preceding else 1
    here["place"] = ListPlace(number, (number - 1) * most + 1, len(window.pages), count)
    return render(request, "crawling/pages.html", here)


@of_run("it has no hosts yet")
def hosts(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """List the hosts of a run whose names contain `?q=`, by `?sort=` (by default the most waiting
    URLs first), after the host queue `?after=`. If the run asks hosts outside of its scope,
    `?which=` selects hosts in it (the default) or outside.
    """
    counts = host_counts(run) if has_others(run) else None
    which = _wanted_scope(request) if counts and counts.other else HostScope.ALL
    text, sort = asked_text(request.GET, "q"), request.GET.get("sort", "")
    sort = sort if sort.removeprefix("-") in SORTS else MOST_TO_DO
    after = asked_number(request, "after")
    most = choices_of(request).most(HOSTS)
    queues, following = hosts_page(run, text=text, sort=sort, after=after, most=most, which=which)
    here = {
        "crawl": run.crawl,
        "run": run,
        "hosts": host_rows(run, queues),
        "counts": counts,
        "which": which.value,
        "text": text,
        "sort": sort,
        "after": after,
        "following": following,
    }
    here["columns"] = [
        column_head(key, label, is_number, now=sort, falls_first=is_number)
        for key, label, is_number in HOST_COLUMNS
    ]
    return render(request, "crawling/hosts.html", here)


def _wanted_scope(request: AuthenticatedRequest) -> HostScope:
    asked = request.GET.get("which")
    return HostScope(asked) if asked in list(HostScope) else HostScope.OF_CRAWL


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def retry(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Try failed URLs of the latest run again: those with the status `status`, the URL with the id
    `url`, or all.
    """
    job = get_object_or_404(CrawlJob, pk=pk)
    with errors_told(request, CrawlError):
        status, url = (
            _posted_number(request, "status", most_digits=4),
            _posted_number(request, "url"),
        )
        count = retry_failed(job, by=request.user, status=status, url_id=url)
        messages.success(
            request,
            "The failed URL is queued again."
            if count == 1
            else f"{count:,} failed URLs are queued again.",
        )
    return (
        redirect_back(request)
        if request.POST.get("next")
        else redirect(reverse("crawling:crawl", args=[pk]))
    )


def _posted_number(
    request: AuthenticatedRequest, name: str, *, most_digits: int = 18
) -> int | None:
    """A number from a form, which may be negative; None if it is missing. Raises CrawlError."""
    text = request.POST.get(name, "")
    if text and whole_number(text.removeprefix("-"), most_digits=most_digits) is None:
        raise CrawlError("A status is a number, like 404.")
    return int(text) if text else None
