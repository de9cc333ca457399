"""One action on many crawls: those that are ticked, or all that the list's address finds. What would be done is shown first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from crawling.errors import CrawlError
from crawling.idling import waiting_runs
from crawling.listing import Wanted, found_crawls
from crawling.models import CrawlJob, Run
from crawling.rules.tags import BadTags, read_tags
from crawling.selectors import crawl_views
from crawling.services.saving import forget_view, save_view
from crawling.services.steering import ALLOWED_FROM, VERBS, pause, possible, resume, stop
from crawling.services.tagging import tag_crawls
from crawling.views.steering import back

#: more at once would keep the browser waiting for minutes
MOST = 500
STEER: dict[str, Callable[..., Run]] = {"pause": pause, "resume": resume, "stop": stop}
DONE = {"pause": "paused", "resume": "resumed", "stop": "stopped"}
ACTIONS = (*STEER, "tag", "untag")


@require_POST
@login_required
@permission_required("crawling.change_crawljob", raise_exception=True)
def bulk(request: HttpRequest) -> HttpResponse:
    """Ask whether it is meant, with the count and what cannot be done; once confirmed, do it."""
    assert isinstance(request.user, User)
    action = request.POST.get("action", "")
    if action not in ACTIONS:
        messages.error(request, "Choose what to do: pause, resume, stop, tag or untag.")
        return back(request)
    try:
        crawls = _chosen(request, action)
        if "confirmed" in request.POST:
            messages.success(request, _do(request, action, crawls, request.user))
            return back(request)
    except (CrawlError, BadTags) as error:
        messages.error(request, str(error))
        return back(request)
    able = [crawl for crawl, view in zip(crawls, crawl_views(crawls), strict=True) if action not in STEER or action in possible(view.state)]
    here = {"action": action, "able": able, "unable": len(crawls) - len(able), "is_steering": action in STEER}
    return render(request, "crawling/bulk.html", {**here, "next": request.POST.get("next", "")})


def _chosen(request: HttpRequest, action: str) -> list[CrawlJob]:
    """The crawls ticked, or all that are found and can be steered so. Raises CrawlError for none or too many."""
    if request.POST.get("which") == "all":
        found = found_crawls(Wanted.read(QueryDict(request.POST.get("next", "").partition("?")[2])), waiting_runs())
        if action in STEER:
            to = next(state for state, verb in VERBS.items() if verb == action)
            found = found.filter(last__state__in=ALLOWED_FROM[to])
    else:
        ids = [int(pk) for pk in request.POST.getlist("crawl") if pk.isascii() and pk.isdigit() and len(pk) < 19]
        found = CrawlJob.objects.filter(pk__in=ids)
    crawls = list(found.order_by("-pk")[: MOST + 1])
    if not crawls:
        raise CrawlError("No crawl is chosen: tick some, or choose all that are found.")
    if len(crawls) > MOST:
        raise CrawlError(f"More than {MOST} crawls are found; narrow the list down first, then go on with the rest.")
    return crawls


def _do(request: HttpRequest, action: str, crawls: Sequence[CrawlJob], by: User) -> str:
    if action in STEER:
        return _steer(action, crawls, by)
    tags = read_tags(request.POST.get("tags", ""))
    if not tags:
        raise BadTags("Name the tags, with commas between them.")
    changed = tag_crawls([crawl.pk for crawl in crawls], **{"add" if action == "tag" else "remove": tags}, by=by)
    return f"{changed:,} of {len(crawls):,} crawls have changed their tags."


def _steer(action: str, crawls: Sequence[CrawlJob], by: User) -> str:
    """Each by itself, so that one that has ended meanwhile keeps none of the others from it."""
    refused: list[str] = []
    for crawl in crawls:
        try:
            STEER[action](crawl, by=by)
        except CrawlError as error:
            refused.append(str(error))
    done = f"{len(crawls) - len(refused):,} crawls are {DONE[action]}."
    return f"{done} {len(refused):,} could not be: {refused[0]}" if refused else done


@require_POST
@login_required
@permission_required("crawling.view_crawljob", raise_exception=True)
def keep_view(request: HttpRequest) -> HttpResponse:
    """Save the list's address as a view of one's own, or forget one."""
    assert isinstance(request.user, User)
    if forgotten := request.POST.get("forget", ""):
        if forgotten.isascii() and forgotten.isdigit() and len(forgotten) < 19:
            forget_view(request.user, int(forgotten))
        return back(request)
    try:
        view = save_view(request.user, request.POST.get("name", ""), request.POST.get("next", "").partition("?")[2])
    except CrawlError as error:
        messages.error(request, str(error))
        return back(request)
    return redirect(f"{reverse('crawling:crawls')}?{view.query}")
