"""One action on many crawls: those that are ticked, or all that the list's address finds.

What would be done is shown first.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from allocation.wording import whole_number
from crawling.crawls.saved_views import forget_view, save_view
from crawling.dashboard.base.crawl_views import crawl_views
from crawling.dashboard.base.requests import asked_ids, back, next_page
from crawling.dashboard.crawls.bulk import ACTIONS, STEER, bulk_action, chosen
from crawling.dashboard.crawls.listing import CrawlFilter
from crawling.errors import CrawlError
from crawling.models import CrawlJob
from crawling.orders.seeds import BadTags, read_tags
from crawling.runs.transitions import ACTIONS as RUN_ACTIONS
from crawling.runs.transitions import ENDING, possible, told_before
from serving.access import AuthenticatedRequest, authenticated


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def bulk(request: AuthenticatedRequest) -> HttpResponse:
    """Ask whether it is meant, with the count and what cannot be done; once confirmed, do it."""
    action = request.POST.get("action", "")
    if action not in ACTIONS:
        messages.error(request, "Choose what to do: pause, resume, stop, abort, tag or untag.")
        return back(request)
    try:
        crawls = _chosen(request, action)
        if "confirmed" in request.POST:
            messages.success(request, _do(request, action, crawls, request.user))
            return back(request)
    except (CrawlError, BadTags) as error:
        messages.error(request, str(error))
        return back(request)
    views = zip(crawls, crawl_views(crawls), strict=True)
    able = [
        (crawl, view.counts)
        for crawl, view in views
        if action not in STEER or action in possible(view.state, queued=view.counts.queued)
    ]
    here = {
        "action": action,
        "able": [crawl for crawl, _ in able],
        "unable": len(crawls) - len(able),
        "is_steering": action in STEER,
    }
    if action in ENDING:
        queued = sum(counts.queued for _, counts in able)
        in_hand = sum(counts.in_process for _, counts in able)
        here["consequence"] = told_before(action, queued=queued, in_hand=in_hand)
    return render(request, "crawling/bulk.html", {**here, "next": next_page(request)})


def _chosen(request: HttpRequest, action: str) -> list[CrawlJob]:
    """The crawls ticked, or all found."""
    if request.POST.get("which") == "all":
        return chosen(
            action,
            wanted=CrawlFilter.read(QueryDict(request.POST.get("next", "").partition("?")[2])),
        )
    return chosen(action, ids=asked_ids(request, "crawl"))


def _do(request: HttpRequest, action: str, crawls: Sequence[CrawlJob], by: User) -> str:
    done = bulk_action(action, crawls, tags=read_tags(request.POST.get("tags", "")), by=by)
    if action not in STEER:
        return f"{done.changed:,} of {len(crawls):,} crawls have changed their tags."
    told = f"{done.changed:,} crawls are {RUN_ACTIONS[action].done}."
    return f"{told} {len(done.refused):,} could not be: {done.refused[0]}" if done.refused else told


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def keep_view(request: AuthenticatedRequest) -> HttpResponse:
    """Save the list's address as a view of one's own, or forget one."""
    if forgotten := request.POST.get("forget", ""):
        if (view_id := whole_number(forgotten)) is not None:
            forget_view(request.user, view_id)
        return back(request)
    try:
        view = save_view(
            request.user,
            request.POST.get("name", ""),
            request.POST.get("next", "").partition("?")[2],
            is_shared="is_shared" in request.POST,
        )
    except CrawlError as error:
        messages.error(request, str(error))
        return back(request)
    return redirect(f"{reverse('crawling:crawls')}?{view.query}")
