"""One action on many crawls: on the ticked crawls, or on all that match the list's address. A page
first shows the effects; afterwards a message can undo them.
"""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from allocation.wording import beginning_of_list, joined_in_words
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.panels import bulk_pages
from crawling.dashboard.base.requests import asked_ids, next_page, redirect_back
from crawling.dashboard.base.schedule import schedule_texts
from crawling.dashboard.base.trouble import errors_told, show_mistakes
from crawling.dashboard.base.undo import acts_of, show_message
from crawling.dashboard.crawls.bulk import (
    MOST,
    TAGGING,
    BulkAction,
    BulkResult,
    bulk_action,
    chosen_crawls,
    needed_permission,
)
from crawling.dashboard.crawls.bulk_words import BULK_VERBS, bulk_preview
from crawling.dashboard.crawls.export import export_answer
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.orders.forms.schedule import ScheduleForm
from crawling.dashboard.orders.schedule_views import foreseen_starts
from crawling.installation.permissions import crawls_within_reach
from crawling.models import CrawlJob
from crawling.orders.schedule_words import Repeat
from crawling.orders.seeds import BadTags, read_tags
from serving.access import AuthenticatedRequest, authenticated, require

#: the most sentences in a message about crawls to which the action could not be applied
MOST_TOLD = 3
#: the most crawls that the page offers if the request names none
OFFERED = 100
#: the minutes over which starts may be spread, with words
SPREADS = (("0", "all at the same time"), *((str(60 * h), f"over {h} h") for h in (1, 2, 4, 8)))
USUAL = {"repeat": Repeat.WEEK}


class ManyForm(ScheduleForm):
    over_minutes = forms.ChoiceField(
        label="Starts",
        required=False,
        choices=SPREADS,
        initial="60",
        help_text="Spread starts need fewer resources at once.",
    )


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def bulk(request: AuthenticatedRequest) -> HttpResponseBase:
    """Ask for a confirmation, with the number of crawls and the reasons why some are left out. Once
    confirmed, apply the action.
    """
    action, pages = request.POST.get("action", ""), bulk_pages()
    if action not in BULK_VERBS and action not in pages:
        words = joined_in_words([*BULK_VERBS, *pages], last="or")
        messages.error(request, f"Choose what to do: {words}.")
        return redirect_back(request)
    require(request.user, needed_permission(action))
    with errors_told(request, CrawlError, BadTags):
        crawls = _chosen_crawls(request, action)
        if action in pages:
            return redirect(pages[action].address([crawl.pk for crawl in crawls]))
        if action == "schedule":
            return _ask_schedule(request, crawls, ManyForm(initial=USUAL))
        if "confirmed" not in request.POST:
            return _ask_to_confirm(request, action, crawls)
        if action == "export":
            return export_answer(crawls)
        act = BulkAction(action, tags=read_tags(request.POST.get("tags", "")))
        _show_result(request, act, bulk_action(act, crawls, by=request.user), len(crawls))
    return redirect_back(request)


def _chosen_crawls(request: AuthenticatedRequest, action: str) -> list[CrawlJob]:
    which = request.POST.get("which", "")
    if which == "all":
        return chosen_crawls(
            action,
            wanted=CrawlFilter.read(QueryDict(request.POST.get("next", "").partition("?")[2])),
            by=request.user,
        )
    ids = asked_ids(request, "shown" if which == "page" else "crawl")
    return chosen_crawls(action, ids=ids, by=request.user)


def _ask_to_confirm(
    request: AuthenticatedRequest, action: str, crawls: Sequence[CrawlJob]
) -> HttpResponse:
    facts = {
        "action": action,
        "verb": BULK_VERBS[action],
        "outlook": bulk_preview(action, crawls, request.user),
        "next": next_page(request),
    }
    return render(request, "crawling/bulk.html", facts)


def _show_result(
    request: AuthenticatedRequest, act: BulkAction, result: BulkResult, count: int
) -> None:
    """Show the result, with a button that undoes it, and the reasons why some crawls were
    refused.
    """
    if act.action in TAGGING:
        done = f"{result.changed:,} of {count:,} crawls have changed their tags."
    else:
        are = "crawl is" if result.changed == 1 else "crawls are"
        done = f"{result.changed:,} {are} {DONE[act.action]}."
    label = "Stop them" if act.action == "start" else "Undo"
    show_message(request, done, [one.as_dict() for one in result.undo], label=label)
    if result.refused:
        why = beginning_of_list([*result.refused.values()], MOST_TOLD, between=" ")
        messages.warning(request, f"{len(result.refused):,} could not be: {why}")


#: for each action, the participle that reports it
DONE = {
    **{word: verb.done for word, verb in BULK_VERBS.items()},
    "restore": "restored",
    "unschedule": "without a schedule",
}


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def undo(request: AuthenticatedRequest) -> HttpResponse:
    """Undo the action of a message. If a crawl cannot be changed yet, the message offers the act
    again.
    """
    with errors_told(request, CrawlError, BadTags):
        for fields in acts_of(request, request.user):
            act = BulkAction(**fields)
            require(request.user, needed_permission(act.action))
            result = bulk_action(
                act, chosen_crawls(act.action, ids=act.crawls, by=request.user), by=request.user
            )
            if result.done:
                messages.success(request, _undone_in_words(act, result.changed))
            if result.refused:
                why = beginning_of_list([*result.refused.values()], MOST_TOLD, between=" ")
                again = [act.of([*result.refused]).as_dict()]
                show_message(request, why, again, label="Try again", level=messages.WARNING)
    return redirect_back(request)


def _undone_in_words(act: BulkAction, count: int) -> str:
    crawls = f"{count:,} crawl{'s' * (count != 1)}"
    if act.action in TAGGING:
        return f"Undone: {crawls} {'has' if count == 1 else 'have'} the tags of before."
    return f"Undone: {crawls} {'is' if count == 1 else 'are'} {DONE[act.action]}."


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def schedule_many(request: AuthenticatedRequest) -> HttpResponse:
    """Ask for a common schedule of the crawls `?crawl=…&crawl=…`, and set it."""
    asked = request.POST if request.method == "POST" else request.GET
    ids = asked_ids(request, "crawl")
    if "unscheduled" in asked:
        ids = [crawl.pk for crawl in _crawls_without_schedule(request)[:MOST]]
    with errors_told(request, CrawlError):
        crawls = chosen_crawls("schedule", ids=ids, by=request.user) if ids else []
        form = ManyForm(asked if request.method == "POST" else None, initial=USUAL)
        if "save" in request.POST and _set_schedules(request, crawls, form):
            return redirect(next_page(request) or "crawling:schedules")
        return _ask_schedule(request, crawls, form)
    return redirect("crawling:schedules")


def _crawls_without_schedule(request: AuthenticatedRequest) -> QuerySet[CrawlJob]:
    return CrawlJob.objects.filter(crawls_within_reach(request.user), schedule=None).order_by("-pk")


def _set_schedules(
    request: AuthenticatedRequest, crawls: Sequence[CrawlJob], form: ManyForm
) -> bool:
    """Set the schedule. Return whether that succeeded; if not, the form has the reason."""
    if not crawls:
        form.add_error(None, "Choose one crawl or more.")
    if not form.is_valid():
        return False
    act = BulkAction("unschedule")
    if not form.is_never:
        over = int(form.cleaned_data["over_minutes"] or 0)
        act = BulkAction("schedule", schedule=form.as_timing(), over_minutes=over)
    try:
        _show_result(request, act, bulk_action(act, crawls, by=request.user), len(crawls))
    except BadOrder as error:
        show_mistakes(form, error.errors)
    return form.is_valid()


def _ask_schedule(
    request: AuthenticatedRequest, crawls: Sequence[CrawlJob], form: ManyForm
) -> HttpResponse:
    offered = crawls or list(_crawls_without_schedule(request)[:OFFERED])
    texts = schedule_texts([crawl.pk for crawl in offered])
    facts = {
        "form": form,
        "foreseen": foreseen_starts(form),
        "rows": [(crawl, texts.get(crawl.pk, "")) for crawl in offered],
        "is_chosen": bool(crawls),
        "unscheduled": 0 if crawls else min(_crawls_without_schedule(request).count(), MOST),
        "next": next_page(request),
    }
    return render(request, "crawling/schedule_many.html", facts)
