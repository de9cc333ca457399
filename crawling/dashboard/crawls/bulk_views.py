"""One action on many crawls, those that are ticked or all that the list's address finds: a page
tells what it will do before it is done, and a message afterwards takes it back.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render

from allocation.wording import beginning, listed
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.requests import asked_ids, back, next_page
from crawling.dashboard.base.trouble import blame, errors_told
from crawling.dashboard.base.undo import acts_of, tell
from crawling.dashboard.crawls.bulk import (
    TAGGING,
    BulkAction,
    BulkResult,
    bulk_action,
    check_schedule,
    chosen,
    needed,
)
from crawling.dashboard.crawls.bulk_words import BULK_VERBS, outlook
from crawling.dashboard.crawls.export import export_answer
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.orders.schedule_views import ScheduleForm
from crawling.models import CrawlJob
from crawling.orders.schedules import zones
from crawling.orders.seeds import BadTags, read_tags
from serving.access import AuthenticatedRequest, authenticated, require

#: sentences of crawls that it could not be done to, in a message
MOST_TOLD = 3


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def bulk(request: AuthenticatedRequest) -> HttpResponseBase:
    """Ask whether it is meant, with the count and what cannot be done; once confirmed, do it."""
    action = request.POST.get("action", "")
    if action not in BULK_VERBS:
        messages.error(request, f"Choose what to do: {listed([*BULK_VERBS], last='or')}.")
        return back(request)
    require(request.user, needed(action))
    form = ScheduleForm(request.POST if "confirmed" in request.POST else None)
    with errors_told(request, CrawlError, BadTags):
        crawls = _chosen(request, action)
        if "confirmed" not in request.POST or not _is_ready(action, form):
            return _ask(request, action, crawls, form)
        if action == "export":
            return export_answer(crawls)
        act = BulkAction(
            action,
            tags=read_tags(request.POST.get("tags", "")),
            schedule=form.fields_of_schedule() if action == "schedule" else {},
        )
        _tell(request, act, bulk_action(act, crawls, by=request.user), len(crawls))
    return back(request)


def _chosen(request: AuthenticatedRequest, action: str) -> list[CrawlJob]:
    which = request.POST.get("which", "")
    if which == "all":
        return chosen(
            action,
            wanted=CrawlFilter.read(QueryDict(request.POST.get("next", "").partition("?")[2])),
            by=request.user,
        )
    ids = asked_ids(request, "shown" if which == "page" else "crawl")
    return chosen(action, ids=ids, by=request.user)


def _is_ready(action: str, form: ScheduleForm) -> bool:
    """Whether all is said; if not, the form says what is wrong."""
    if action != "schedule":
        return True
    if form.is_valid():
        try:
            check_schedule(form.fields_of_schedule())
        except BadOrder as error:
            blame(form, error.errors)
    return form.is_valid()


def _ask(
    request: AuthenticatedRequest, action: str, crawls: Sequence[CrawlJob], form: ScheduleForm
) -> HttpResponse:
    facts = {
        "action": action,
        "verb": BULK_VERBS[action],
        "outlook": outlook(action, crawls, request.user),
        "form": form,
        "zones": sorted(zones()),
        "next": next_page(request),
    }
    return render(request, "crawling/bulk.html", facts, status=422 if form.errors else 200)


def _tell(request: AuthenticatedRequest, act: BulkAction, result: BulkResult, count: int) -> None:
    """Tell what was done with a button that takes it back, and why the rest was refused."""
    if act.action in TAGGING:
        done = f"{result.changed:,} of {count:,} crawls have changed their tags."
    else:
        are = "crawl is" if result.changed == 1 else "crawls are"
        done = f"{result.changed:,} {are} {DONE[act.action]}."
    label = "Stop them" if act.action == "start" else "Undo"
    tell(request, done, [one.as_dict() for one in result.undo], label=label)
    if result.refused:
        why = beginning([*result.refused.values()], MOST_TOLD, between=" ")
        messages.warning(request, f"{len(result.refused):,} could not be: {why}")


#: the word for each action once done
DONE = {
    **{word: verb.done for word, verb in BULK_VERBS.items()},
    "restore": "restored",
    "unschedule": "started by hand only",
}


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def undo(request: AuthenticatedRequest) -> HttpResponse:
    """Take back what a message told; an act that is too early is offered once more."""
    with errors_told(request, CrawlError, BadTags):
        for fields in acts_of(request, request.user):
            act = BulkAction(**fields)
            require(request.user, needed(act.action))
            result = bulk_action(
                act, chosen(act.action, ids=act.crawls, by=request.user), by=request.user
            )
            if result.done:
                messages.success(request, _undone(act, result.changed))
            if result.refused:
                why = beginning([*result.refused.values()], MOST_TOLD, between=" ")
                again = [act.of([*result.refused]).as_dict()]
                tell(request, why, again, label="Try again", level=messages.WARNING)
    return back(request)


def _undone(act: BulkAction, count: int) -> str:
    crawls = f"{count:,} crawl{'s' * (count != 1)}"
    if act.action in TAGGING:
        return f"Undone: {crawls} {'has' if count == 1 else 'have'} the tags of before."
    return f"Undone: {crawls} {'is' if count == 1 else 'are'} {DONE[act.action]}."
