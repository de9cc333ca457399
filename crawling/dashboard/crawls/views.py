"""The list of crawls; one action on many of them, those that are ticked or all that the list's
address finds, shown before it is done; and the page of what was deleted and can be restored.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.vary import vary_on_headers

from allocation.wording import listed, whole_number
from crawling.base.errors import CrawlError, NotFound, WrongState
from crawling.dashboard.base.columns import SPAN, chips_of
from crawling.dashboard.base.crawl_views import crawl_views
from crawling.dashboard.base.recently_deleted import (
    find_deleted,
    remove_for_good,
    restorable_rows,
    restore,
)
from crawling.dashboard.base.requests import asked_ids, back, next_page
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.crawls.bulk import ACTIONS, bulk_action, chosen
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.crawls.list_rows import COLUMNS, heads, list_rows
from crawling.dashboard.crawls.listing import CRAWLS_PER_PAGE, crawls_file, list_crawls
from crawling.installation.permissions import acted_on
from crawling.models import CrawlJob, Team
from crawling.orders.seeds import BadTags, read_tags
from crawling.runs.crawls.saved_views import forget_view, save_view, visible_views
from crawling.runs.transitions import ACTIONS as RUN_ACTIONS
from crawling.runs.transitions import ENDING, possible, told_before
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.list_choices import choices_of
from serving.requests import render_live, wants_fragment

#: the filters of the list, and their words
FILTERS = {"q": "Holds", "state": "State", "tag": "Tag", "owner": "Owner", "team": "Team", **SPAN}


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
@vary_on_headers("HX-Request")
def crawls(request: AuthenticatedRequest) -> HttpResponse:
    """List crawls as the address says; a refresh gets the part that changes."""
    wanted = CrawlFilter.read(request.GET)
    choices = choices_of(request)
    shown = choices.shown("crawls", COLUMNS)
    listing = list_crawls(wanted, most=choices.most(CRAWLS_PER_PAGE))
    facts = {
        "wanted": wanted,
        "listing": listing,
        "rows": list_rows(listing, request.user),
        "columns": heads(wanted, listing, shown),
        "shown": shown,
    }
    if not wants_fragment(request):
        facts |= {
            "teams": Team.objects.filter(members=request.user),
            "chips": chips_of(request.GET, FILTERS),
            "reset": reverse("crawling:crawls"),
            "views": visible_views(request.user),
            "run_actions": RUN_ACTIONS,
        }
    # who may act on each crawl is a question of its owner and team
    by_user = request.user.has_perm("crawling.change_crawljob")
    return render_live(
        request, "crawling/crawls.html", "crawling/_crawls.html", facts, depends_on_user=by_user
    )


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def crawls_as_file(request: AuthenticatedRequest, kind: str) -> HttpResponseBase:
    return send(crawls_file(CrawlFilter.read(request.GET), kind))


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def bulk(request: AuthenticatedRequest) -> HttpResponse:
    """Ask whether it is meant, with the count and what cannot be done; once confirmed, do it."""
    action = request.POST.get("action", "")
    if action not in ACTIONS:
        messages.error(request, f"Choose what to do: {listed(ACTIONS, last='or')}.")
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
    own = acted_on(request.user, [crawl.pk for crawl in crawls])
    able = [
        (crawl, view.counts)
        for crawl, view in views
        if crawl.pk in own
        and (action not in RUN_ACTIONS or action in possible(view.state, queued=view.counts.queued))
    ]
    here = {
        "action": action,
        "able": [crawl for crawl, _ in able],
        "unable": len(crawls) - len(able),
        "is_steering": action in RUN_ACTIONS,
    }
    if action in ENDING:
        queued = sum(counts.queued for _, counts in able)
        in_hand = sum(counts.in_process for _, counts in able)
        here["consequence"] = told_before(action, queued=queued, in_hand=in_hand)
    return render(request, "crawling/bulk.html", {**here, "next": next_page(request)})


def _chosen(request: AuthenticatedRequest, action: str) -> list[CrawlJob]:
    if request.POST.get("which") == "all":
        return chosen(
            action,
            wanted=CrawlFilter.read(QueryDict(request.POST.get("next", "").partition("?")[2])),
            by=request.user,
        )
    return chosen(action, ids=asked_ids(request, "crawl"), by=request.user)


def _do(request: HttpRequest, action: str, crawls: Sequence[CrawlJob], by: User) -> str:
    done = bulk_action(action, crawls, tags=read_tags(request.POST.get("tags", "")), by=by)
    told = (
        f"{done.changed:,} crawls are {RUN_ACTIONS[action].done}."
        if action in RUN_ACTIONS
        else f"{done.changed:,} of {len(crawls):,} crawls have changed their tags."
    )
    return f"{told} {len(done.refused):,} could not be: {done.refused[0]}" if done.refused else told


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def keep_view(request: AuthenticatedRequest) -> HttpResponse:
    if forgotten := request.POST.get("forget", ""):
        if (view_id := whole_number(forgotten)) is not None:
            forget_view(request.user, view_id)
        return back(request)
    with errors_told(request, CrawlError):
        view = save_view(
            request.user,
            request.POST.get("name", ""),
            request.POST.get("next", "").partition("?")[2],
            is_shared="is_shared" in request.POST,
        )
        return redirect(f"{reverse('crawling:crawls')}?{view.query}")
    return back(request)


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def deleted(request: AuthenticatedRequest) -> HttpResponse:
    rows = restorable_rows(request.user)
    return render(request, "crawling/deleted.html", {"rows": rows})


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def restore_deleted(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    try:
        with errors_told(request, WrongState):
            name = restore(kind, pk, by=request.user)
            messages.success(request, f"{name} is restored.")
    except NotFound as error:
        raise Http404(str(error)) from error
    return redirect("crawling:deleted")


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def remove_deleted(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    """Ask for the name, then delete it for good."""
    typed, error = request.POST.get("name", "").strip(), ""
    try:
        row = find_deleted(kind, pk, request.user)
        if request.method == "POST":
            remove_for_good(kind, pk, name=typed, by=request.user)
            messages.success(request, f"{row.name} is deleted for good.")
            return redirect("crawling:deleted")
    except NotFound as missing:
        raise Http404(str(missing)) from missing
    except WrongState as trouble:
        error = str(trouble)
    return render(
        request, "crawling/delete_for_good.html", {"row": row, "typed": typed, "error": error}
    )
