"""The page that sets, changes or removes the schedules of many crawls at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render

from allocation.wording import whole_number
from crawling.base.errors import BadOrder, CrawlError
from crawling.dashboard.base.requests import next_page
from crawling.dashboard.base.schedule import schedule_texts
from crawling.dashboard.base.trouble import blame
from crawling.dashboard.crawls.bulk import MOST, BulkResult, chosen
from crawling.dashboard.crawls.filter import CrawlFilter
from crawling.dashboard.orders.forms.schedule import ScheduleForm
from crawling.dashboard.orders.schedule_views import foreseen
from crawling.installation.permissions import acted_on, refusal, within_reach
from crawling.models import CrawlJob
from crawling.orders.schedule_words import Repeat
from crawling.runs.crawls.schedules import remove_schedule, set_schedules
from serving.access import AuthenticatedRequest, authenticated

#: crawls that are offered where none is named
OFFERED = 100
#: minutes over which starts are spread, with their words
SPREADS = (("0", "all at the same time"), *((str(60 * h), f"over {h} h") for h in (1, 2, 4, 8)))


class ManyForm(ScheduleForm):
    over_minutes = forms.ChoiceField(
        label="Starts",
        required=False,
        choices=SPREADS,
        initial="60",
        help_text="Spread starts need fewer resources at once.",
    )


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def schedule_many(request: AuthenticatedRequest) -> HttpResponse:
    """Ask for the schedule of the crawls `?crawl=…&crawl=…`, and set it. A POST without `save`
    asks, too: a list of very many is no address.
    """
    is_asked = request.method == "POST" and not {"save", "check"}.isdisjoint(request.POST)
    try:
        crawls = _chosen(request)
    except CrawlError as error:
        messages.error(request, str(error))
        return redirect("crawling:schedules")
    form = ManyForm(request.POST if is_asked else None, initial={"repeat": Repeat.WEEK})
    if "save" in request.POST and _save(request, crawls, form):
        return redirect(next_page(request) or "crawling:schedules")
    return render(request, "crawling/schedule_many.html", _facts(request, crawls, form))


def _chosen(request: AuthenticatedRequest) -> list[CrawlJob]:
    """The crawls that are named, or all that the list found from which the user comes, or all
    without a schedule. None of them: they are asked for.
    """
    asked = request.POST if request.method == "POST" else request.GET
    if asked.get("which") == "all":
        query = QueryDict(request.POST.get("next", "").partition("?")[2])
        return chosen("schedule", wanted=CrawlFilter.read(query), by=request.user)
    ids = [number for text in asked.getlist("crawl") if (number := whole_number(text)) is not None]
    if "unscheduled" in asked:
        ids = [crawl.pk for crawl in _unscheduled(request)[:MOST]]
    return chosen("schedule", ids=ids, by=request.user) if ids else []


def _unscheduled(request: AuthenticatedRequest) -> Any:
    return CrawlJob.objects.filter(within_reach(request.user), schedule=None).order_by("-pk")


def _save(request: AuthenticatedRequest, crawls: Sequence[CrawlJob], form: ManyForm) -> bool:
    """Whether it went well; otherwise the form says why not."""
    if not crawls:
        form.add_error(None, "Choose one crawl or more.")
    if not form.is_valid() or not crawls:
        return False
    fields = None if form.is_never else form.as_timing()
    over = int(form.cleaned_data["over_minutes"] or 0)
    try:
        done = schedule_crawls(crawls, fields, over_minutes=over, by=request.user)
    except BadOrder as error:
        blame(form, error.errors)
        return False
    crawls_in_words = f"{done.changed:,} crawl{'s' * (done.changed != 1)}"
    told = f"The schedule of {crawls_in_words} is {'removed' if fields is None else 'saved'}."
    messages.success(request, told)
    if done.refused:
        told = f"{len(done.refused):,} stay as they were. {done.refused[0]}"
        messages.error(request, told)
    return True


def schedule_crawls(
    crawls: Sequence[CrawlJob], fields: Mapping[str, Any] | None, *, over_minutes: int, by: User
) -> BulkResult:
    """Set the schedules of those crawls that the user may act on; None: remove them. Raises
    BadOrder.
    """
    own = acted_on(by, [crawl.pk for crawl in crawls])
    mine = [crawl for crawl in crawls if crawl.pk in own]
    if fields is not None:
        set_schedules(mine, fields, over_minutes=over_minutes, by=by)
    else:
        for crawl in mine:
            remove_schedule(crawl, by=by)
    return BulkResult(len(mine), [refusal(crawl) for crawl in crawls if crawl.pk not in own])


def _facts(
    request: AuthenticatedRequest, crawls: Sequence[CrawlJob], form: ManyForm
) -> dict[str, Any]:
    offered = crawls or list(_unscheduled(request)[:OFFERED])
    texts = schedule_texts([crawl.pk for crawl in offered])
    return {
        "form": form,
        "foreseen": foreseen(form),
        "rows": [(crawl, texts.get(crawl.pk, "")) for crawl in offered],
        "is_chosen": bool(crawls),
        "unscheduled": 0 if crawls else min(_unscheduled(request).count(), MOST),
        "next": next_page(request),
    }
