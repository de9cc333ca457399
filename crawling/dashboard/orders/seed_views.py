"""Add seeds to an existing crawl, and keep the sources that add them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from allocation.wording import beginning, some
from crawling.base.errors import BadSeeds, CrawlError
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.orders.forms.fields import lines
from crawling.models import CrawlJob, SeedSource, SeedSourceKind
from crawling.runs.crawls.added_seeds import AddedSeedsResult, add_to_seeds
from crawling.uses.seed_sources.sources import (
    SHORTEST,
    SeedSourceFields,
    create_source,
    folder_of,
    remove_source,
)
from serving.access import AuthenticatedRequest, authenticated

#: known addresses that one message names
NAMED = 5
#: of minutes, as they are typed
MOST_DIGITS = 10


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def seeds(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Ask for seeds and add them; with mistakes all that was typed stays in the form."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    typed = request.POST.get("seeds", "").replace("\0", "")
    here = _here(crawl) | {"typed": typed, "resume": "resume" in request.POST}
    if request.method == "POST":
        try:
            added = add_to_seeds(
                crawl,
                lines(typed),
                by=request.user,
                widen="widen" in request.POST,
                resume=here["resume"],
            )
        except BadSeeds as error:
            return render(request, "crawling/seeds.html", {**here, "error": error})
        _message_added(request, added)
        return redirect("crawling:frontier" if here["run"] else "crawling:crawl", crawl.pk)
    return render(request, "crawling/seeds.html", here)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def create_seed_source(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Read a folder or a feed from now on; with mistakes all that was typed stays in the form."""
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
    return render(request, "crawling/seeds.html", _here(crawl) | wanted)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def remove_seed_source(request: AuthenticatedRequest, pk: int, number: int) -> HttpResponse:
    """Its seeds and files stay."""
    with errors_told(request, CrawlError):
        remove_source(get_object_or_404(CrawlJob, pk=pk), number, by=request.user)
        messages.success(request, "The source is removed; its seeds stay.")
    return redirect("crawling:seeds", pk)


def _here(crawl: CrawlJob) -> dict[str, Any]:
    """What the page shows of a crawl, with an empty form for a source."""
    return {
        "crawl": crawl,
        "run": crawl.runs.first(),
        "sources": SeedSource.objects.filter(crawl=crawl).select_related("created_by"),
        "folder": folder_of(crawl),
        "kinds": [(kind.value, kind.label, SHORTEST[kind]) for kind in SeedSourceKind],
        "wanted": SeedSourceFields(SeedSourceKind.FEED),
        "minutes": SeedSourceFields("").minutes,
    }


def _message_added(request: HttpRequest, added: AddedSeedsResult) -> None:
    if added.added:
        count = (
            f"{len(added.added):,} seed{'s are' if len(added.added) > 1 else ' is'} added by "
            f"revision {added.revision}"
        )
        queued = (
            "they wait for the next run"
            if added.queued is None
            else f"{added.queued:,} queued in the active run"
        )
        messages.success(request, f"{count}; {queued}.")
    else:
        messages.info(request, "Nothing was added: all of them are seeds already.")
    if added.known:
        known = [f"{url} ({what})" for url, what in added.known.items()]
        messages.info(request, f"Known: {beginning(known, NAMED, between='; ')}.")
    if without := added.without_secrets:
        messages.warning(
            request,
            f"Without the secret headers, which were given for other sites: "
            f"{some(without)}. Give the headers anew to have them sent there.",
        )
