"""Add seeds to an existing crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from allocation.wording import beginning_of_list, first_few_in_words
from crawling.base.errors import BadSeeds
from crawling.dashboard.orders.forms.fields import typed_entries
from crawling.models import CrawlJob
from crawling.runs.crawls.added_seeds import AddedSeedsResult, add_seeds_to_crawl
from serving.access import AuthenticatedRequest, authenticated

#: the number of known addresses that a message names
NAMED = 5


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def seeds(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Ask for seeds and add them. If there are mistakes, the form keeps the typed values."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    typed = request.POST.get("seeds", "").replace("\0", "")
    is_resumed = "resume" in request.POST
    if request.method == "POST":
        try:
            added = add_seeds_to_crawl(
                crawl,
                typed_entries(typed),
                by=request.user,
                widen="widen" in request.POST,
                resume=is_resumed,
            )
        except BadSeeds as error:
            return seeds_page(
                request, crawl, {"typed": typed, "resume": is_resumed, "error": error}
            )
        _message_added(request, added)
        return redirect("crawling:frontier" if crawl.runs.exists() else "crawling:crawl", crawl.pk)
    return seeds_page(request, crawl)


def seeds_page(
    request: HttpRequest, crawl: CrawlJob, more: Mapping[str, Any] | None = None
) -> HttpResponse:
    """The page with the input, and its mistakes, if any."""
    here = {"crawl": crawl, "run": crawl.runs.first(), **(more or {})}
    return render(request, "crawling/seeds.html", here)


def _message_added(request: HttpRequest, added: AddedSeedsResult) -> None:
    if added.added:
        count = (
            f"{len(added.added):,} start URL{'s are' if len(added.added) > 1 else ' is'} added by "
            f"revision {added.revision}"
        )
        queued = (
            "they wait for the next run"
            if added.queued is None
            else f"{added.queued:,} queued in the active run"
        )
        messages.success(request, f"{count}; {queued}.")
    else:
        messages.info(request, "Nothing was added: all of them are start URLs already.")
    if added.known:
        known = [f"{url} ({what})" for url, what in added.known.items()]
        messages.info(request, f"Known: {beginning_of_list(known, NAMED, between='; ')}.")
    if without := added.without_secrets:
        messages.warning(
            request,
            f"Without the secret headers, which were given for other sites: "
            f"{first_few_in_words(without)}. Give the headers anew to have them sent there.",
        )
