"""The tabs below *Pages*, the menu of files beside them, and the lists at the side of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django import template
from django.template import Context
from django.urls import reverse

from crawling.dashboard.base.panels import Link, Place, links
from crawling.dashboard.base.requests import address_of
from crawling.dashboard.pages.duplicates import SimilarityKind
from crawling.dashboard.pages.page_faults import FailedFile, faults_of
from crawling.dashboard.templatetags.crawls import crawl_head
from crawling.models import CrawlJob, Page, Run

register = template.Library()


@register.filter
def faults(page: Page) -> str:
    """The failed requests and console errors of a rendered page: how many, and the first."""
    return faults_of(page).in_words


@register.filter
def failed_requests(page: Page) -> list[FailedFile]:
    return faults_of(page).failed


class SideLink(NamedTuple):
    label: str
    address: str
    is_here: bool = False
    opens_window: bool = False
    #: whether it is a button that posts to the address
    is_order: bool = False


@register.inclusion_tag("crawling/_pages_top.html", takes_context=True)
def pages_head(
    context: Context, crawl: CrawlJob, here: str, run: Run | None = None, has_files: bool = True
) -> dict[str, Any]:
    """The top of a page below *Pages*; `here` is the label of the current tab.

    has_files: whether the page has the menu of files; a page with downloads of its own does not.
    """
    top = crawl_head(context, crawl, "pages", run)
    shown = top["page"]["run"]  # type: ignore[index]  # a dict of ours
    return top | {
        "crawl": crawl,
        "run": shown,
        "has_files": has_files and shown is not None,
        "shown": here,
        "pages_tabs": list(_tabs(context, crawl, shown, here)),
    }


@register.inclusion_tag("crawling/_downloads.html", takes_context=True)
def downloads_menu(context: Context, crawl: CrawlJob, run: Run, shown: str = "") -> dict[str, Any]:
    """The menu with the files of a run's pages. `shown` is the label of the current tab."""
    return {
        "crawl": crawl,
        "run": run,
        "shown": shown,
        "perms": context.get("perms"),
        "request": context.get("request"),
        "downloads": list(_visible_links(context, Place.DOWNLOADS, run, crawl.pk)),
        "archives": list(_visible_links(context, Place.ARCHIVE_DOWNLOADS, run, crawl.pk)),
    }


def _tabs(context: Context, crawl: CrawlJob, run: Run | None, here: str) -> Iterator[SideLink]:
    """The tabs. *Data* leads to the first of its pages."""
    data = next(_visible_links(context, Place.DATA, run, crawl.pk), None)
    found = [
        SideLink("List", _crawl_address("pages", crawl, run)),
        SideLink("Tree", _crawl_address("site-tree", crawl, run)),
        *([data._replace(label="Data")] if data else ()),
        SideLink("Duplicates", _crawl_address("duplicates", crawl, run)),
        *_visible_links(context, Place.PAGES, run, crawl.pk),
    ]
    if run and crawl.order.rendering.may_render:
        found.append(SideLink("Live view", _crawl_address("live-view", crawl, run)))
    return (one._replace(is_here=one.label == here) for one in found)


def _crawl_address(route: str, crawl: CrawlJob, run: Run | None) -> str:
    route = f"crawling:{route}"
    return address_of(route, run) if run else reverse(route, args=[crawl.pk])


@register.inclusion_tag("crawling/_side_links.html", takes_context=True)
def side_links(
    context: Context, place: str, crawl: CrawlJob, run: Run | None = None, here: str = ""
) -> dict[str, Any]:
    """The links that uses of crawls offer at a place, one below the other. `here` is the label of
    the current one. Without a run the latest run is used.
    """
    run = run or crawl.runs.filter(is_latest=True).first()
    found = _visible_links(context, Place[place], run, crawl.pk)
    return {"links": [one._replace(is_here=one.label == here) for one in found]}


@register.inclusion_tag("crawling/_side_links.html", takes_context=True)
def duplicates_side(context: Context, crawl: CrawlJob, run: Run, here: str) -> dict[str, Any]:
    """The links to lists of similar pages, one below the other."""
    address = _crawl_address("duplicates", crawl, run)
    own = [SideLink(kind.label, f"{address}&kind={kind.value}") for kind in SimilarityKind]
    found = [*own, *_visible_links(context, Place.DUPLICATES, run, crawl.pk)]
    return {"links": [one._replace(is_here=one.label == here) for one in found]}


@register.inclusion_tag("crawling/_page_buttons.html", takes_context=True)
def page_buttons(context: Context, page: Page) -> dict[str, Any]:
    """The buttons of a stored page, and the menu beside them."""
    crawl = page.run.crawl
    return {
        "page": page,
        "run": page.run,
        "crawl": crawl,
        "perms": context.get("perms"),
        "request": context.get("request"),
        "buttons": list(_visible_links(context, Place.PAGE, page, crawl.pk)),
        "more": list(_visible_links(context, Place.PAGE_MENU, page, crawl.pk)),
    }


def _visible_links(
    context: Context, place: Place, subject: object, crawl: int
) -> Iterator[SideLink]:
    for link in links(place):
        if _is_allowed(context, link) and (address := link.address(subject, crawl)):
            yield SideLink(link.label, address, False, link.opens_window, link.is_order)


def _is_allowed(context: Context, link: Link) -> bool:
    return not link.needs or context["request"].user.has_perm(link.needs)
