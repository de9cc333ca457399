"""The sources on the page of a crawl's seeds, where they are added and removed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path

from crawling.base.errors import CrawlError
from crawling.dashboard.base.panels import Panel, Place
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.orders.seed_views import seeds_page
from crawling.models import CrawlJob, SeedSource, SeedSourceKind
from crawling.uses.seed_sources.sources import (
    SHORTEST,
    SeedSourceFields,
    create_source,
    folder_of,
    remove_source,
)
from serving.access import AuthenticatedRequest, authenticated

#: the most digits of minutes, as entered
MOST_DIGITS = 10


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def create_seed_source(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Add a folder or feed, which is read from now on. If there are mistakes, the form keeps the
    typed values.
    """
    crawl = get_object_or_404(CrawlJob, pk=pk)
    minutes = request.POST.get("minutes", "")
    fields = SeedSourceFields(
        request.POST.get("kind", ""),
        request.POST.get("url", "").replace("\0", ""),
        int(minutes) if minutes.isdecimal() and len(minutes) < MOST_DIGITS else 0,
        "resume" in request.POST,
    )
    errors: dict[str, str] = {}
    with mistakes_kept(errors, CrawlError):
        create_source(crawl, fields, by=request.user)
        messages.success(request, "The source is read within a minute, and then at intervals.")
        return redirect("crawling:seeds", pk)
    wanted = {"wanted": fields, "minutes": minutes, "errors": errors}
    return seeds_page(request, crawl, {"typed_in_panel": wanted})


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def remove_seed_source(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    """Remove a source. Its seeds and files stay."""
    with errors_told(request, CrawlError):
        remove_source(get_object_or_404(CrawlJob, pk=pk), number, by=request.user)
        messages.success(request, "The source is removed; its start URLs stay.")
    return redirect("crawling:seeds", pk)


urlpatterns = [
    path("<int:pk>/seeds/sources/", create_seed_source, name="create_seed_source"),
    path(
        "<int:pk>/seeds/sources/<int:number>/",
        remove_seed_source,
        name="remove_seed_source",
    ),
]


def _sources_panel(crawl: CrawlJob) -> Mapping[str, Any]:
    """The sources of a crawl, with an empty form for a further one."""
    return {
        "sources": SeedSource.objects.filter(crawl=crawl).select_related("created_by"),
        "folder": folder_of(crawl),
        "kinds": [(kind.value, kind.label, SHORTEST[kind]) for kind in SeedSourceKind],
        "wanted": SeedSourceFields(SeedSourceKind.FEED),
        "minutes": SeedSourceFields("").minutes,
    }


PANELS = (Panel(Place.SEEDS, "seed_sources/_sources.html", _sources_panel),)
