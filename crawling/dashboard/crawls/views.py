"""The list of crawls, and the page of deleted items that can be restored."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.vary import vary_on_headers

from allocation.wording import whole_number
from crawling.base.errors import CrawlError, NotFound, WrongState
from crawling.dashboard.base.columns import SPAN, chips_of
from crawling.dashboard.base.recently_deleted import (
    find_deleted,
    remove_for_good,
    restorable_rows,
    restore,
)
from crawling.dashboard.base.requests import next_page, redirect_back
from crawling.dashboard.base.trouble import errors_told
from crawling.dashboard.base.undo import tell_deleted
from crawling.dashboard.crawls.bulk_words import verbs_for
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.crawls.list_rows import COLUMNS, USUALLY_HIDDEN, column_heads, list_rows
from crawling.dashboard.crawls.listing import CRAWLS_PER_PAGE, crawls_file, list_crawls
from crawling.models import Team
from crawling.runs.crawls.saved_views import forget_view, save_view, visible_views
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.list_choices import choices_of
from serving.requests import render_live, wants_fragment

#: the filters of the list, and their words
FILTERS = {
    "q": "Contains",
    "state": "State",
    "tag": "Tag",
    "owner": "Owner",
    "team": "Team",
    **SPAN,
}
#: the sort keys where the list has no heads to click
SORTS_IN_WORDS = {
    "-made": "Newest first",
    "name": "Name",
    "-started": "Last started first",
    "state": "State",
    "-fetched": "Most fetched first",
    "-failed": "Most failed first",
    "-queued": "Most queued first",
    "-size": "Largest first",
}.items()


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
@vary_on_headers("HX-Request")
def crawls(request: AuthenticatedRequest) -> HttpResponse:
    """List the crawls that match the address. An automatic refresh gets only the part that
    changes.
    """
    wanted = CrawlFilter.read(request.GET)
    choices = choices_of(request)
    shown = choices.shown("crawls", COLUMNS, USUALLY_HIDDEN)
    listing = list_crawls(wanted, most=choices.most(CRAWLS_PER_PAGE))
    facts = {
        "wanted": wanted,
        "listing": listing,
        "rows": list_rows(listing, request.user),
        "columns": column_heads(wanted, listing, shown),
        "shown": shown,
    }
    if not wants_fragment(request):
        facts |= {
            "teams": Team.objects.filter(members=request.user),
            "chips": chips_of(request.GET, FILTERS),
            "reset": reverse("crawling:crawls"),
            "views": visible_views(request.user),
            "verbs": verbs_for(request.user),
            "sorts": SORTS_IN_WORDS,
            "kept": [(name, text) for name in FILTERS if (text := request.GET.get(name, ""))],
        }
    # whether a user may act on a crawl depends on its owner and team
    by_user = request.user.has_perm("crawling.change_crawljob")
    return render_live(
        request, "crawling/crawls.html", "crawling/_crawls.html", facts, depends_on_user=by_user
    )


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD"))
def crawls_as_file(request: AuthenticatedRequest, kind: str) -> HttpResponseBase:
    return send(crawls_file(CrawlFilter.read(request.GET), kind))


@authenticated(needs="crawling.view_crawljob", methods=("POST",))
def keep_view(request: AuthenticatedRequest) -> HttpResponse:
    if forgotten := request.POST.get("forget", ""):
        view_id = whole_number(forgotten)
        item = None if view_id is None else forget_view(request.user, view_id)
        if item:
            tell_deleted(request, f"The view {item.name} is deleted.", item)
        return redirect_back(request)
    with errors_told(request, CrawlError):
        view = save_view(
            request.user,
            request.POST.get("name", ""),
            request.POST.get("next", "").partition("?")[2],
            is_shared="is_shared" in request.POST,
        )
        return redirect(f"{reverse('crawling:crawls')}?{view.query}")
    return redirect_back(request)


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
    return redirect(next_page(request) or "crawling:deleted")


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def remove_deleted(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    """Ask for the name of the item, then delete it permanently."""
    typed, error = request.POST.get("name", "").strip(), ""
    try:
        row = find_deleted(kind, pk, request.user)
        if request.method == "POST":
            remove_for_good(kind, pk, name=typed, by=request.user)
            messages.success(request, f"{row.name} is deleted permanently.")
            return redirect("crawling:deleted")
    except NotFound as missing:
        raise Http404(str(missing)) from missing
    except WrongState as trouble:
        error = str(trouble)
    return render(
        request, "crawling/delete_for_good.html", {"row": row, "typed": typed, "error": error}
    )
