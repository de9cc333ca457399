"""Starts, pauses, resumes, stops and aborts a crawl by a button on any page, and returns to that
page. Also hands a crawl over.
"""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from allocation.errors import BadKeepTime
from crawling.base.errors import CrawlError
from crawling.dashboard.base.requests import next_page, redirect_back
from crawling.dashboard.base.trouble import errors_told, mistakes_kept
from crawling.dashboard.base.undo import show_message
from crawling.models import CrawlJob, Team
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.crawls.teams import hand_over, may_hand_over
from crawling.runs.steering import blocking_limit, confirmation_question
from crawling.runs.transitions import CONFIRMED
from crawling.runs.verbs import VERBS, Verb, offered_verbs
from serving.access import AuthenticatedRequest, authenticated

_AT_WORK = ("queued", "waiting", "running")
#: for each action, the states of the crawl in which its message is shown; in other states the
#: message would contradict the state
STATES_AFTER = {
    "start": _AT_WORK,
    "resume": _AT_WORK,
    "pause": ("pausing", "paused"),
    "stop": ("stopping", "stopped"),
    "abort": ("stopping", "stopped"),
}


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def steer(request: AuthenticatedRequest, crawl: int, verb: str) -> HttpResponse:
    """Perform the action, or show the reason why it is impossible. An action that loses something
    is confirmed first, and a limit that a run has reached is raised before the run is resumed.
    """
    job, act = get_object_or_404(CrawlJob, pk=crawl), VERBS[verb]
    with errors_told(request, CrawlError, BadKeepTime):
        if verb == "resume" and blocking_limit(job):
            return redirect("crawling:raise-limit", job.pk)
        is_asked = verb in CONFIRMED and "confirmed" not in request.POST
        if is_asked and (sentence := confirmation_question(job, verb)):
            return _ask_to_confirm(request, job, verb, sentence)
        act.do(job, by=request.user, **_keep_seconds(act, request.POST.get("keep_minutes", "")))
        # the message has no state, since the state may have changed again before the page is read
        show_message(
            request,
            f"{verb.capitalize()} of {job.name} requested.",
            [{"action": "resume", "crawls": [job.pk]}] if verb == "pause" else (),
            about=(job.pk, STATES_AFTER[verb]),
        )
    return redirect_back(request)


def _ask_to_confirm(
    request: AuthenticatedRequest, job: CrawlJob, word: str, sentence: str
) -> HttpResponse:
    facts = {
        "crawl": job,
        "word": word,
        "verb": offered_verbs([word], has_run=True)[word],
        "consequence": sentence,
        "next": next_page(request) or reverse("crawling:crawl", args=[job.pk]),
    }
    return render(request, "crawling/confirm.html", facts)


@authenticated(needs="crawling.change_crawljob", methods=("POST",))
def set_max(request: AuthenticatedRequest, crawl: int) -> HttpResponse:
    job = get_object_or_404(CrawlJob, pk=crawl)
    with errors_told(request, CrawlError):
        job = edit_crawl(
            job, {"claim": {"fetch_slots": request.POST.get("fetch_slots", "")}}, by=request.user
        )
        messages.success(
            request,
            f"{job.name}: {job.claim['fetch_slots']} connections for each worker.",
        )
    return redirect_back(request)


def _keep_seconds(verb: Verb, keep_minutes: str) -> dict[str, float]:
    """The seconds in a form. Raises CrawlError if they are no number."""
    try:
        return {"keep_seconds": 60 * float(keep_minutes)} if verb.may_keep and keep_minutes else {}
    except ValueError as error:
        raise CrawlError("Minutes to keep are a number, like 30.") from error


@authenticated(needs="crawling.change_crawljob", methods=("GET", "HEAD", "POST"))
def owner(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    crawl = get_object_or_404(CrawlJob, pk=pk)
    typed = {
        "owner": request.POST.get("owner", crawl.created_by.username if crawl.created_by else ""),
        "team": request.POST.get("team", crawl.team),
    }
    errors: dict[str, str] = {}
    if request.method == "POST":
        with mistakes_kept(errors):
            hand_over(crawl, **typed, by=request.user)
            messages.success(request, f"{crawl.name} is {typed['owner']}'s now.")
            return redirect("crawling:settings", pk=pk)
    here = {"crawl": crawl, "typed": typed, "errors": errors, "teams": Team.objects.all()}
    here["may_hand_over"] = may_hand_over(crawl, request.user)
    return render(request, "crawling/owner.html", here, status=422 if errors else 200)
