"""The page with the watches of a crawl and their events. Also the feed of a watch, for feed
readers, which have no account.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from allocation.wording import whole_number
from crawling.base.errors import CrawlError
from crawling.dashboard.base.panels import Link, Panel, Place, form_with_page, page_of_crawl
from crawling.dashboard.base.recently_deleted import DeletedRow, RestorableKind, kept_row
from crawling.dashboard.base.requests import latest_asked, redirect_back
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.base.undo import show_message
from crawling.installation.news import MOST_PENDING
from crawling.installation.permissions import still_shared
from crawling.models import CrawlJob, Page
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.runs.crawls.share_links import SharedKind
from crawling.uses.watches.api import feed_address
from crawling.uses.watches.feed import atom_feed, watch_of
from crawling.uses.watches.models import PageEvent, Watch
from crawling.uses.watches.news import pending_runs
from crawling.uses.watches.watching import (
    WatchFields,
    create_watch,
    events_of,
    hand_watch_over,
    remove_watch,
    remove_watch_now,
    removed_watch,
    removed_watches,
    renew_feed,
    restore_watch,
    watches_by,
)
from crawling.web.addresses import fingerprint, signed_64_bits
from serving.access import AuthenticatedRequest, authenticated, needs
from serving.visitors import HEADERS, exceeds_shared_reports, seconds_left

#: the value of the field *Compare* for pictures, and the first threshold of a form
PICTURE, USUAL_PERCENT = "picture", "1"
TYPE = "application/atom+xml; charset=utf-8"
SHOWN = 50
KINDS = (
    (UrlRuleKind.PAGE, "one page", "https://example.org/prices"),
    (UrlRuleKind.PATTERN, "all addresses that hold this expression (RE2)", "/prices/[0-9]+$"),
    (UrlRuleKind.HOST, "one host", "www.example.org"),
)


@require_safe
@sensitive_variables("token")
def feed_of_token(request: HttpRequest, token: str) -> HttpResponse:
    """Send the events of the token's watch. The answer is the same for an unknown and a renewed
    token.
    """
    if exceeds_shared_reports(request):
        again = {"Retry-After": str(seconds_left())}
        return HttpResponse("Too many requests; try again later.", status=429, headers=again)
    watch = watch_of(token)
    if watch is None:
        return HttpResponse("This address opens no feed.", status=404, headers=HEADERS)
    text = atom_feed(watch, feed_address(watch))
    return HttpResponse(text, headers=HEADERS, content_type=TYPE)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def watches_page(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    errors: dict[str, str] = {}
    if request.method == "POST":
        errors = _create_watch(request, crawl)
        if not errors:
            return redirect("crawling:watches", pk)
    may_change = request.user.has_perm("crawling.change_crawljob")
    made = list(Watch.objects.filter(crawl=crawl).select_related("created_by"))
    open_feeds = still_shared(crawl, made) if may_change else set()
    here: dict[str, Any] = {
        "crawl": crawl,
        "watches": [
            (watch, feed_address(watch) if may_change and watch.pk in open_feeds else "")
            for watch in made
        ],
        "pending": [run.number for run in pending_runs(crawl)[:MOST_PENDING]],
        **latest_asked(request, events_of(crawl), SHOWN),
        "kinds": KINDS,
        "page_events": PageEvent.choices,
        "errors": errors,
        "typed": (typed := _posted_fields(request)),
        "example": _example_page(crawl, typed),
        "percent": request.POST.get("picture_percent", USUAL_PERCENT),
        "regions": request.POST.get("ignored_regions", ""),
    }
    return render(request, "watches/watches.html", here)


def _posted_fields(request: AuthenticatedRequest) -> WatchFields:
    """The fields in the form. Fields may also be in the address, since other pages link here with
    values.
    """
    data = request.POST if request.method == "POST" else request.GET
    events = data.getlist("events") if request.method == "POST" else tuple(PageEvent)
    fields = WatchFields(data.get("kind", ""), data.get("text", ""), events=events)
    if data.get("compare") == PICTURE:
        return fields._replace(
            picture_percent=_number_or_nan(data.get("picture_percent", USUAL_PERCENT)),
            ignored_regions=_typed_regions(data.get("ignored_regions", "")),
        )
    return fields._replace(
        selector=data.get("selector", ""),
        ignore=data.get("ignore", "").splitlines(),
        ignore_numbers="ignore_numbers" in data,
    )


def _number_or_nan(text: str) -> float:
    """The number in the text; NaN, which the check of the fields refuses, if there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _typed_regions(text: str) -> list[list[int]]:
    """The numbers in each line; -1, which no region has, for a word that is no number."""
    lines = (line.replace(",", " ").split() for line in text.splitlines())
    return [
        [-1 if (n := whole_number(word)) is None else n for word in line] for line in lines if line
    ]


def _example_page(crawl: CrawlJob, wanted: WatchFields) -> Page | None:
    """The latest capture of a page that is to be watched, if a browser has made a picture of it."""
    if not wanted.text.isprintable():  # the database can store no text with NUL
        return None
    found = Page.objects.filter(
        run__crawl=crawl,
        run__removal_asked_at=None,
        url__fingerprint=signed_64_bits(fingerprint(wanted.text)),
        url__url=wanted.text,
    )
    latest = found.order_by("-fetched_at").select_related("url").first()
    return latest if latest and latest.has_picture else None


@needs("crawling.change_crawljob")
def _create_watch(request: AuthenticatedRequest, crawl: CrawlJob) -> dict[str, str]:
    """Create the watch. Return the mistakes in the form by field."""
    errors: dict[str, str] = {}
    with mistakes_kept(errors, CrawlError):
        create_watch(crawl, _posted_fields(request), by=request.user)
        messages.success(request, "Watched from the next run on.")
    return errors


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def change_watch(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    with errors_told(request, CrawlError):
        if "renew" in request.POST:
            renew_feed(crawl, number, by=request.user)
            messages.success(request, "The feed has a new address; the old one opens nothing.")
        elif "restore" in request.GET:
            restore_watch(crawl, number, by=request.user)
            messages.success(request, "The watch and its events are restored.")
        else:
            remove_watch(crawl, number, by=request.user)
            address = reverse("crawling:watch", args=[pk, number])
            show_message(
                request, "The watch and its events are removed.", address=f"{address}?restore=1"
            )
    return redirect("crawling:watches", pk)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def watch_page(request: AuthenticatedRequest, pk: int, url: int) -> HttpResponse:
    """Watch one stored page as a whole, from the next run on."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    page = get_object_or_404(Page.objects.select_related("url"), pk=url, run__crawl=crawl)
    with errors_told(request, CrawlError):
        create_watch(crawl, WatchFields(UrlRuleKind.PAGE, page.url.url), by=request.user)
        messages.success(
            request, "The page is watched from the next run on. Changes are listed among the news."
        )
    return redirect_back(request)


def _watch_panel(page: Page) -> Mapping[str, Any]:
    """The watch of exactly this page; None if there is none."""
    made = Watch.objects.filter(crawl=page.run.crawl_id, kind=UrlRuleKind.PAGE)
    return {"watch": made.filter(text=page.url.url).first()}


urlpatterns = [
    path("<int:pk>/pages/<int:url>/watch/", watch_page, name="watch-page"),
    path("<int:pk>/watches/", watches_page, name="watches"),
    path("<int:pk>/watches/<int:number>/", change_watch, name="watch"),
]
#: without a log-in, since feed readers have no account
open_urlpatterns = [path("watches/<str:token>/feed.atom", feed_of_token, name="watch-feed")]


def _form_for_picture(page: Page, crawl: int) -> str:
    """The address of the form that watches the picture of a page; "" if it has none."""
    form = form_with_page("crawling:watches")
    return f"{form(page, crawl)}&compare={PICTURE}#watch" if page.has_picture else ""


LINKS = (
    Link(Place.PAGES, "Watches", page_of_crawl("crawling:watches")),
    Link(Place.PAGE_MENU, "Watch its picture", _form_for_picture, needs="crawling.change_crawljob"),
)
PANELS = (Panel(Place.PAGE_BUTTONS, "watches/_watch_page.html", _watch_panel),)
SHARED = (
    SharedKind(
        "feed",
        lambda watch: reverse("crawling:watches", args=[watch.crawl_id]),
        watches_by,
        lambda watch, receiver, by: hand_watch_over(watch, receiver, by=by),
    ),
)


def _deleted_rows(user: User | None, **wanted: object) -> Iterator[DeletedRow]:
    for watch in removed_watches().filter(**wanted):
        assert watch.removal_asked_at is not None
        name = f"{watch.kind} {watch.text} of {watch.crawl.name}"
        yield kept_row("watch", watch.pk, name, watch.removal_asked_at, crawl=watch.crawl)


def _restore_removed_watch(number: int, *, by: User | None) -> Watch:
    return restore_watch(removed_watch(number).crawl, number, by=by)


RESTORABLE = (
    RestorableKind(
        "watch", "crawling.change_crawljob", _deleted_rows, _restore_removed_watch, remove_watch_now
    ),
)
