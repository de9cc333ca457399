"""The page of a crawl's schedule, the list of all schedules, and the dates that a form predicts."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from allocation.wording import whole_number
from crawling.base.errors import BadOrder
from crawling.dashboard.base.schedule import plan_of, preview_schedule, scheduled_crawls
from crawling.dashboard.base.trouble import show_mistakes
from crawling.dashboard.base.undo import tell_deleted
from crawling.dashboard.orders.forms.schedule import ScheduleForm, schedule_answers
from crawling.models import CrawlJob
from crawling.runs.crawls.schedules import LONGEST_SPREAD, remove_schedule, set_schedule
from serving.access import AuthenticatedRequest, authenticated, needs

#: the number of schedules on a page, and the farthest place in the list
SHOWN, MOST_SCHEDULES = 100, 1_000_000


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def schedule(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    plan = plan_of(crawl)
    form = ScheduleForm(request.POST or None, initial=schedule_answers(plan.timing) if plan else {})
    is_check = "check" in request.POST
    if request.method == "POST" and not is_check and _set_schedule(request, crawl, form):
        return redirect("crawling:schedule", pk=pk)
    facts = {"crawl": crawl, "plan": plan, "form": form, "foreseen": foreseen_starts(form)}
    return render(request, "crawling/schedule.html", facts)


@needs("crawling.change_crawljob")
def _set_schedule(request: AuthenticatedRequest, crawl: CrawlJob, form: ScheduleForm) -> bool:
    """Set the schedule. Return whether that succeeded; if not, the form has the reason."""
    if not form.is_valid():
        return False
    if form.is_never:
        if item := remove_schedule(crawl, by=request.user):
            tell_deleted(request, f"{crawl.name} has no schedule any more.", item)
        return True
    try:
        set_schedule(crawl, form.as_timing(), by=request.user)
    except BadOrder as error:
        show_mistakes(form, error.errors)
        return False
    messages.success(request, "The schedule is saved.")
    return True


@authenticated(needs="crawling.view_crawljob")
def dates(request: AuthenticatedRequest) -> HttpResponse:
    """Show the part of a form with the starts that its answers would cause."""
    form = ScheduleForm(request.GET)
    return render(request, "crawling/_next_starts.html", {"foreseen": foreseen_starts(form)})


def foreseen_starts(form: ScheduleForm) -> dict[str, Any] | None:
    """The starts that a form's answers would cause. None if the form asks for no schedule, or has
    mistakes.
    """
    if not form.is_bound:
        usual = {name: form[name].initial for name in form.fields}
        form = ScheduleForm({**usual, "is_on": True})
    if not form.is_valid() or form.is_never:
        return None
    over = min(whole_number(str(form.data.get("over_minutes", ""))) or 0, LONGEST_SPREAD)
    timing, starts = preview_schedule(form.as_timing(), over_minutes=over)
    return {"words": timing.repeats, "starts": starts} if timing else None


@authenticated(needs="crawling.view_crawljob")
def schedules(request: AuthenticatedRequest) -> HttpResponse:
    after = min(whole_number(request.GET.get("after", "")) or 0, MOST_SCHEDULES)
    rows, following = scheduled_crawls(after=after, limit=SHOWN)
    facts = {"rows": rows, "following": following, "after": after}
    return render(request, "crawling/schedules.html", facts)
