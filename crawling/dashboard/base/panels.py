"""Parts that uses of crawls add to the crawler's pages. A use offers `TABS`, `LINKS`, `PANELS`,
`BULK_PAGES`, `SHARED_PAGES` and `SHARED_FILES` in its module `pages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from operator import attrgetter
from typing import Any

from django.urls import reverse
from django.utils.http import urlencode

from crawling.base.use import offered_by_uses
from crawling.dashboard.base.requests import address_of
from crawling.models import Page, Run
from serving.downloads import Download


class Place(Enum):
    """A place on a page of the crawler, and the subject of the panels and links there."""

    #: the page of a crawl; the subject is its run
    CRAWL = auto()
    #: the menu of a crawl, with rows `<li>…`; the subject is the crawl
    CRAWL_MENU = auto()
    #: the tabs of the pages of a crawl; the subject is its run, or None
    PAGES = auto()
    #: the list of data about a crawl's pages; the subject is its run, or None
    DATA = auto()
    #: the list of similar pages; the subject is the run
    DUPLICATES = auto()
    #: the menu of files of a run's stored pages; the subject is the run
    DOWNLOADS = auto()
    ARCHIVE_DOWNLOADS = auto()
    #: the list of the links of a run; the subject is the run
    LINKS = auto()
    #: the buttons of a stored page, as links, and its facts, as rows `<div><dt>…<dd>…</div>`; the
    #: subject is the page
    PAGE = auto()
    #: the buttons of a stored page that are not only links; the subject is the page
    PAGE_BUTTONS = auto()
    #: the menu of a stored page; the subject is the page
    PAGE_MENU = auto()
    #: the seeds of a crawl; the subject is the crawl
    SEEDS = auto()
    #: the settings of a crawl; the subject is its latest run, or None
    SETTINGS = auto()
    #: the preferences of a user; the subject is the user
    ACCOUNT = auto()
    #: the report behind a share link; the subject is the run
    SHARED_REPORT = auto()


@dataclass(frozen=True)
class Tab:
    """A tab of a run."""

    label: str
    #: a route in the namespace of crawls
    route: str
    #: the route of the tab in front of it
    after: str


@dataclass(frozen=True)
class Link:
    """A link among others."""

    place: Place
    label: str
    #: returns the address, from the place's subject and the crawl's id; "" if there is none
    address: Callable[[Any, int], str]
    #: a permission that the page requires
    needs: str = ""
    opens_window: bool = False
    #: whether it is a button: a POST to the address requests a file, and leads to the page where
    #: the file will be
    is_order: bool = False
    #: lower numbers come first
    order: int = 1


@dataclass(frozen=True)
class Panel:
    """A part of a page."""

    place: Place
    template: str
    #: returns the template's facts, from the place's subject; None shows nothing
    facts: Callable[[Any], Mapping[str, Any] | None]


@dataclass(frozen=True)
class BulkPage:
    """A page for an action on selected crawls that needs further input."""

    #: the action's name in the list of crawls
    action: str
    label: str
    icon: str
    #: returns the address of the page, from the ids of crawls
    address: Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class ReportPage:
    """A page behind share links, below the report."""

    #: the parameter in the query of its address
    name: str
    template: str
    #: returns the template's facts, from the run and the value in the query; None if the value is
    #: invalid
    facts: Callable[[Run, str], Mapping[str, Any] | None]


@dataclass(frozen=True)
class ReportFile:
    """A file that a share link gives access to."""

    #: the value of `file` in the query of its address
    name: str
    #: may raise LinkSearchTookTooLong while the file is sent
    make: Callable[[Run], Download]


def page_of_run(route: str) -> Callable[[Run | None, int], str]:
    """Return a function that returns the address of the page at this route about a run; "" without
    a run.
    """

    def address(run: Run | None, crawl: int) -> str:
        return address_of(route, run) if run else ""

    return address


def page_of_crawl(route: str) -> Callable[[object, int], str]:
    """Return a function that returns the address of the page at this route about a crawl."""
    return lambda subject, crawl: reverse(route, args=[crawl])


def form_with_page(route: str) -> Callable[[Page, int], str]:
    """Return a function that returns the address of the page at this route, whose form then
    contains the address of a stored page.
    """

    def address(page: Page, crawl: int) -> str:
        return f"{reverse(route, args=[crawl])}?{urlencode({'kind': 'page', 'text': page.url.url})}"

    return address


def tabs() -> list[Tab]:
    return list(offered_by_uses("pages", "TABS"))


def bulk_pages() -> dict[str, BulkPage]:
    """The pages, by their actions."""
    return {one.action: one for one in offered_by_uses("pages", "BULK_PAGES")}


def links(place: Place) -> Iterator[Link]:
    found = (one for one in offered_by_uses("pages", "LINKS") if one.place is place)
    return iter(sorted(found, key=attrgetter("order")))


def shared_page(run: Run, query: Mapping[str, str]) -> tuple[str, Mapping[str, Any]] | None:
    """The template and its facts for a request below a report; None if the request is for the
    report itself.
    """
    for page in offered_by_uses("pages", "SHARED_PAGES"):
        facts = page.facts(run, query[page.name]) if page.name in query else None
        if facts is not None:
            return page.template, facts
    return None


def shared_file(run: Run, query: Mapping[str, str]) -> Download | None:
    """The file for a request below a report; None if there is none of the requested name."""
    files = offered_by_uses("pages", "SHARED_FILES")
    asked = query.get("file")
    return next((one.make(run) for one in files if one.name == asked), None)


def panels(place: Place) -> Iterator[Panel]:
    return (one for one in offered_by_uses("pages", "PANELS") if one.place is place)
