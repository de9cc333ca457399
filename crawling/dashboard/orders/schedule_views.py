"""The page of a crawl's schedule."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from allocation.wording import whole_number
from crawling.base.errors import BadOrder
from crawling.dashboard.base.trouble import blame
from crawling.dashboard.orders.schedule import plan_of, scheduled_crawls
from crawling.models import CrawlJob
from crawling.orders.schedules import CatchUp, zones
from crawling.runs.crawls.schedules import remove_schedule, set_schedule
from serving.access import AuthenticatedRequest, authenticated, needs

CATCH_UP = (
    (CatchUp.ONCE, "start once for all that was missed"),
    (CatchUp.SKIP, "wait for the next time"),
)
#: schedules on a page, and the furthest that the list goes
SHOWN, MOST_SCHEDULES = 100, 1_000_000
WHEN = ("cron", "every_minutes", "fastest_minutes", "time_zone", "catch_up")


class ScheduleForm(forms.Form):
    """Questions only; what is right is settled by `set_schedule`."""

    cron = forms.CharField(
        label="Cron line",
        required=False,
        help_text="Minute, hour, day, month, weekday: 30 2 * * 1-5 is half past two on working "
        "days.",
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocapitalize": "off", "autocomplete": "off"}
        ),
    )
    every_minutes = forms.CharField(
        label="…or every N minutes",
        required=False,
        help_text="1440 is a day, whatever clocks do.",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    fastest_minutes = forms.CharField(
        label="Shortest interval while pages change, in minutes",
        required=False,
        help_text="With an interval: it is halved after a run in which a twentieth of the pages "
        "changed, and doubled after one in which none did.",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    time_zone = forms.CharField(
        label="Time zone",
        required=False,
        initial="UTC",
        widget=forms.TextInput(attrs={"list": "zones", "spellcheck": "false"}),
    )
    catch_up = forms.ChoiceField(
        label="If times were missed",
        required=False,
        choices=CATCH_UP,
        help_text="If the scheduler was down for five minutes or longer.",
    )
    is_on = forms.BooleanField(label="Enabled", required=False, initial=True)

    def fields_of_schedule(self) -> dict[str, Any]:
        """Unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        return {
            **{name: answers[name] for name in WHEN if answers.get(name)},
            "is_on": answers["is_on"],
        }


@authenticated(needs="crawling.view_crawljob", methods=("GET", "HEAD", "POST"))
def schedule(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    plan = plan_of(crawl)
    form = ScheduleForm(request.POST or None, initial={**plan.timing} if plan else None)
    if request.method == "POST" and _change(request, crawl, form):
        return redirect("crawling:schedule", pk=pk)
    return render(
        request,
        "crawling/schedule.html",
        {"crawl": crawl, "plan": plan, "form": form, "zones": sorted(zones())},
    )


@needs("crawling.change_crawljob")
def _change(request: AuthenticatedRequest, crawl: CrawlJob, form: ScheduleForm) -> bool:
    """Whether it went well; otherwise the form says why not."""
    if "remove" in request.POST:
        remove_schedule(crawl, by=request.user)
        messages.success(request, f"{crawl.name} starts by hand only.")
        return True
    if not form.is_valid():
        return False
    try:
        set_schedule(crawl, form.fields_of_schedule(), by=request.user)
    except BadOrder as error:
        blame(form, error.errors)
        return False
    messages.success(request, "The schedule is saved.")
    return True


@authenticated(needs="crawling.view_crawljob")
def schedules(request: AuthenticatedRequest) -> HttpResponse:
    after = min(whole_number(request.GET.get("after", "")) or 0, MOST_SCHEDULES)
    rows, following = scheduled_crawls(after=after, limit=SHOWN)
    facts = {"rows": rows, "following": following, "after": after}
    return render(request, "crawling/schedules.html", facts)
