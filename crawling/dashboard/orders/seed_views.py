"""Add seeds to an existing crawl."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from crawling.crawls.added_seeds import AddedSeedsResult, add_to_seeds
from crawling.dashboard.orders.forms.fields import lines
from crawling.errors import BadSeeds
from crawling.models import CrawlJob
from serving.access import AuthenticatedRequest, authenticated

#: known addresses that one message names
NAMED = 5


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def seeds(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Ask for seeds and add them; with mistakes all that was typed stays in the form."""
    crawl = get_object_or_404(CrawlJob, pk=pk)
    run = crawl.runs.first()
    typed = request.POST.get("seeds", "").replace("\0", "")
    here = {"crawl": crawl, "run": run, "typed": typed, "resume": "resume" in request.POST}
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
        return redirect("crawling:frontier" if run else "crawling:crawl", crawl.pk)
    return render(request, "crawling/seeds.html", here)


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
        some = "; ".join(f"{url} ({what})" for url, what in list(added.known.items())[:NAMED])
        more = f"; and {len(added.known) - NAMED:,} more" if len(added.known) > NAMED else ""
        messages.info(request, f"Known: {some}{more}.")
