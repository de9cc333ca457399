"""The pages behind the share link of a collection, for people without an account: its contents, the
pages of one of its crawls, and a stored page as it looked. The frame with a stored page has an
address of its own, which works for some hours and only while the link works. So the document of a
stranger never gets the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import BoundedSemaphore

from django.core import signing
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.debug import sensitive_variables

from crawling.archive.snapshot_view import BUSY, WAIT_SECONDS
from crawling.base.errors import ArchiveTrouble
from crawling.base.timed import SearchTookTooLong
from crawling.dashboard.base.requests import asked_number
from crawling.dashboard.base.visitor_pages import (
    PAGES,
    busy_answer,
    for_visitors,
    nothing_here,
    visitor_page,
)
from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.pages.page_kinds import PageKind
from crawling.dashboard.pages.stored_view import (
    EXPIRED,
    LASTS,
    framed_page,
    framed_sentence,
    shown_as,
)
from crawling.dashboard.run.pages import PageWindow, pages_of
from crawling.dashboard.run.shared_report import without_user
from crawling.models import Page, Run
from crawling.uses.collections.members import MemberRow, figures_of
from crawling.uses.collections.models import CollectionLink
from crawling.uses.collections.share_links import shared_collection, working_link
from crawling.uses.collections.shared_reach import SharedReach, reach_of
from serving.requests import asked_text
from serving.visitors import HEADERS

#: the number of members on a page, of pages of a crawl on a page, and of runs and captures that are
#: listed
ROWS, PAGE_ROWS, RUNS, CAPTURES = 100, 50, 50, 50
FRAME = "crawling.shared_collection"
#: visitors may use one of the places for joining pages with their files, so that users have another
PLACE = BoundedSemaphore(1)


@for_visitors
@sensitive_variables("token")
def shared_collection_page(request: HttpRequest, token: str) -> HttpResponseBase:
    """The collection of the token: its members whose name or address contains `?q=`, or with
    `?crawl=` the stored pages of this crawl, of its latest run or of `?run=`.

    The answer is the same for a token that is unknown, expired or revoked, or whose collection is
    deleted.
    """
    link = shared_collection(token)
    if link is None:
        return nothing_here()
    crawl = asked_number(request, "crawl")
    if crawl is None:
        return _contents_page(request, link, token)
    if not PAGES.acquire(blocking=False):
        return busy_answer()
    try:
        return _pages_of_crawl(request, link, token, crawl)
    finally:
        PAGES.release()


def _contents_page(request: HttpRequest, link: CollectionLink, token: str) -> HttpResponse:
    rows, text = reach_of(link).members(), asked_text(request.GET, "q")
    found = [row for row in rows if text.casefold() in _searched_text(row)] if text else rows
    page = Paginator(found, ROWS).get_page(request.GET.get("page"))
    facts = {
        "collection": link.collection,
        "expires_at": link.expires_at,
        "figures": figures_of(rows),
        "singles": sum(row.page is not None for row in rows),
        "text": text,
        "count": len(rows),
        "page": page,
        "rows": [(_row_address(row, token), *_row_without_users(row)) for row in page],
        "more": urlencode({"q": text} if text else {}),
    }
    return visitor_page("collections/shared.html", facts)


def _searched_text(row: MemberRow) -> str:
    return without_user(f"{row.name}\n{row.url}").casefold()


def _row_without_users(row: MemberRow) -> tuple[MemberRow, str, str]:
    return row, without_user(row.name), without_user(row.url)


def _row_address(row: MemberRow, token: str) -> str:
    if row.page is not None:
        return reverse("shared-collection-page", args=[token, row.page])
    return f"{reverse('shared-collection', args=[token])}?crawl={row.crawl}" if row.runs else ""


def _pages_of_crawl(
    request: HttpRequest, link: CollectionLink, token: str, crawl: int
) -> HttpResponse:
    runs = list(reach_of(link).runs(crawl)[:RUNS])
    number = asked_number(request, "run")
    run = next((one for one in runs if number in (None, one.number)), None)
    if run is None:
        return nothing_here()
    kind = request.GET.get("type", PageKind.HTML)
    wanted = PageFilter(asked_text(request.GET, "q"), kind=kind if kind in PageKind.values else "")
    window, took_too_long = _page_window(request, run, wanted)
    query = {"crawl": str(crawl), "run": str(run.number), "type": kind, "q": wanted.text}
    facts = {
        "collection": link.collection,
        "expires_at": link.expires_at,
        "back": reverse("shared-collection", args=[token]),
        "run": run,
        "runs": runs,
        "wanted": wanted,
        "kinds": PageKind.choices,
        "asked": urlencode(query),
        "window": window,
        "took_too_long": took_too_long,
        "rows": [
            (
                _page_address(page, token) if page.archive_file_id else "",
                page,
                without_user(page.title),
                without_user(page.url.url),
            )
            for page in window.pages
        ],
    }
    return visitor_page("collections/shared_crawl.html", facts)


def _page_window(request: HttpRequest, run: Run, wanted: PageFilter) -> tuple[PageWindow, bool]:
    """The pages of a part of the list, and whether the search for them took too long."""
    after, before = asked_number(request, "after"), asked_number(request, "before")
    try:
        return pages_of(run, wanted, most=PAGE_ROWS, after=after, before=before), False
    except SearchTookTooLong:
        return PageWindow(), True


def _page_address(page: Page, token: str) -> str:
    return reverse("shared-collection-page", args=[token, page.pk])


@for_visitors
@sensitive_variables("token")
def shared_page(request: HttpRequest, token: str, number: int) -> HttpResponseBase:
    """A stored page of the collection in a frame, and its other captures there."""
    link = shared_collection(token)
    reach = reach_of(link) if link else None
    page = reach.page(number) if reach else None
    if link is None or reach is None or page is None:
        return nothing_here()
    frame = signing.dumps([link.pk], salt=FRAME)
    facts = {
        "collection": link.collection,
        "expires_at": link.expires_at,
        "back": reverse("shared-collection", args=[token]),
        "page": page,
        "title": without_user(page.title),
        "url": without_user(page.url.url),
        "is_whole": page.run.crawl_id in reach.crawls,
        "is_shown": bool(shown_as(page)),
        "frame": reverse("shared-collection-frame", args=[frame, number]),
        "captures": _capture_links(reach, page, token),
    }
    return visitor_page("collections/shared_page.html", facts)


def _capture_links(reach: SharedReach, page: Page, token: str) -> Sequence[tuple[str, Page]]:
    found = reach.captures(page.url.url)[:CAPTURES]
    return [(_page_address(one, token), one) for one in found] if len(found) > 1 else []


@xframe_options_sameorigin
@for_visitors
@sensitive_variables("token")
def shared_frame(request: HttpRequest, token: str, number: int) -> HttpResponseBase:
    """The document of a stored page of the collection, for a frame without any permissions. token:
    that of the frame.
    """
    answer = framed_sentence(EXPIRED)
    with suppress(signing.BadSignature):
        (link,) = signing.loads(token, salt=FRAME, max_age=LASTS)
        answer = _framed_page(working_link(link), token, number)
    for name, value in HEADERS.items():
        answer.headers.setdefault(name, value)
    return answer


def _framed_page(link: CollectionLink | None, frame: str, number: int) -> HttpResponse:
    reach = reach_of(link) if link else None
    page = reach.page(number) if reach else None
    if reach is None or page is None:
        return framed_sentence("The link opens no such page.")
    if not PAGES.acquire(blocking=False):
        return framed_sentence(BUSY)
    try:
        return _assemble_page(reach, page, frame)
    except ArchiveTrouble as trouble:
        return framed_sentence(str(trouble))
    finally:
        PAGES.release()


def _assemble_page(reach: SharedReach, page: Page, frame: str) -> HttpResponse:
    """Raises ArchiveTrouble."""

    def address_of(to: Page) -> str:
        return reverse("shared-collection-frame", args=[frame, to.pk]) if reach.opens(to) else ""

    if not PLACE.acquire(timeout=WAIT_SECONDS):
        raise ArchiveTrouble(BUSY)
    try:
        return framed_page(page, address_of)[0]
    finally:
        PLACE.release()
