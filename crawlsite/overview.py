"""The overview, which is the first page: running crawls, waiting crawls with their reasons, crawls
that need an operator, news, and a new installation's first steps. The bell on every page shows the
same problems and news.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from redis.exceptions import RedisError

from allocation.alarms import alarms
from allocation.selectors import pool_cards
from crawling.dashboard.crawls.overview import crawl_problems, read_overview
from crawling.dashboard.run.charts import SPANS, chart_file, chart_of_all, from_first_fetch
from crawling.installation.identity import identity
from crawling.installation.news import by_run, latest_news, pending_news
from crawling.models import Run
from crawling.runs.crawls.examples import crawls_without_example
from crawling.runs.resource_use import cards_with_use
from crawling.runs.week import WEEK
from crawlsite.health.probes import component_health
from crawlsite.news import feed_address, pending_now, unread_count, unread_since
from crawlsite.preferences import preference_of
from crawlsite.refusal_pages import administrators
from serving.access import AuthenticatedRequest, authenticated
from serving.downloads import send
from serving.requests import render_live, wants_fragment

#: the cache key of the number of problems for all users, and the seconds for which it is kept,
#: since every page reads it
KEPT, KEPT_SECONDS = "attention/count", 5
#: the number of news on the overview, and on the page of all news
SOME_NEWS, MOST_NEWS = 10, 50


@dataclass(frozen=True)
class FirstStep:
    name: str
    sentence: str
    #: the text and the target of its link; "" if other users must do the step
    link: str
    address: str
    is_done: bool = False


def steps_to_first_crawl(user: User) -> list[FirstStep]:
    """Open and finished steps. Empty once a crawl of the user has fetched a page, and for users who
    cannot create crawls.
    """
    if not user.has_perm("crawling.add_crawljob"):
        return []
    own = crawls_without_example()
    if Run.objects.filter(crawl__in=own, total__fetched__gt=0).exists():
        return []
    latest = own.order_by("-pk").first()
    return [
        _identity_step(user),
        FirstStep(
            "Create a crawl",
            "Enter a URL and choose Save and start. Every other field has a default.",
            "New crawl",
            reverse("crawling:new"),
            latest is not None,
        ),
        FirstStep(
            "Look at the result",
            "The page of the crawl shows what it fetches, what fails and why it waits.",
            "Open the crawl" if latest else "Open the crawls",
            reverse("crawling:crawl", args=[latest.pk]) if latest else reverse("crawling:crawls"),
        ),
    ]


def _identity_step(user: User) -> FirstStep:
    contact = identity().contact_url
    what = "Every request names the crawler and a contact, so that site owners reach you."
    if contact:
        what = f"Every request names {contact}."
    may_set = user.has_perm("crawling.change_identity")
    if not contact and not may_set:
        what += f" Only administrators set them: {', '.join(administrators())}."
    return FirstStep(
        "Say who you are",
        what,
        "Set the identity" if may_set else "",
        reverse("administration:identity"),
        bool(contact),
    )


@dataclass(frozen=True)
class OpenProblem:
    #: the state in the words of pages
    state: str
    name: str
    address: str
    sentence: str


def open_problems() -> list[OpenProblem]:
    """The open problems of parts of the product, of pools and of crawls."""
    return list(_open_problems())


def _open_problems() -> Iterator[OpenProblem]:
    for part in component_health():
        if not part.is_fine:
            yield OpenProblem("failed", part.name, reverse("health"), part.sentence)
    for alarm in alarms():
        address = reverse("allocation:pool", args=[alarm.pool])
        yield OpenProblem("unsafe", alarm.name, address, alarm.text)
    for problem in crawl_problems():
        address = reverse("crawling:crawl", args=[problem.crawl])
        yield OpenProblem(problem.word, problem.name, address, problem.sentence)


def _open_problem_count() -> int:
    with suppress(RedisError):  # without Redis each page counts
        found = cache.get(KEPT)
        if found is None:
            found = len(open_problems())
            cache.set(KEPT, found, KEPT_SECONDS)
        return int(found)
    return len(open_problems())


@authenticated(needs="crawling.view_crawljob")
def attention_page(request: AuthenticatedRequest) -> HttpResponse:
    """Show the problems that need attention, and the news after `?after=`."""
    after = request.GET.get("after", "")[:100]
    news, following = latest_news(after=after, most=MOST_NEWS)
    here = {
        "problems": open_problems(),
        "news": news,
        "pending": pending_news(),
        "after": after,
        "following": following,
        "unread_since": unread_since(request.user),
        "unread": unread_count(request.user),
        "feed": feed_address(request.user),
    }
    return render(request, "overview/attention.html", here)


@authenticated(needs="crawling.view_crawljob")
def attention_count(request: AuthenticatedRequest) -> HttpResponse:
    """The numbers of problems, of unread news, and of runs whose news are not known yet, for the
    bell.
    """
    counts = {
        "count": _open_problem_count(),
        "news": unread_count(request.user),
        "pending": len(pending_now()),
    }
    return JsonResponse(counts)


@authenticated(needs="crawling.view_crawljob")
def overview(request: AuthenticatedRequest) -> HttpResponse:
    """Show running, waiting and failing crawls, the rate, the safety of the pools, and the state of
    every part.
    """
    hours = _requested_hours(request)
    services = component_health()
    here = {
        "crawls": read_overview(),
        "chart": from_first_fetch(chart_of_all(hours)),
        "hours": hours,
        "hours_text": str(hours),
        "spans": list(SPANS),
        "parts": services,
        "broken": [part for part in services if not part.is_fine],
        "news": by_run(latest_news(since=timezone.now() - WEEK, most=SOME_NEWS)[0]),
        "pending": pending_now(),
        "pools": cards_with_use(pool_cards())
        if request.user.has_perm("allocation.view_pool")
        else [],
    }
    if not wants_fragment(request) and not preference_of(request.user).hides_first_steps:
        here["steps"] = steps_to_first_crawl(request.user)
    return render_live(request, "overview/overview.html", "overview/_overview.html", here)


@authenticated(needs="crawling.view_crawljob")
def numbers_csv(request: AuthenticatedRequest) -> StreamingHttpResponse:
    hours = _requested_hours(request)
    return send(chart_file(f"crawls-{hours}h", chart_of_all(hours)))


def _requested_hours(request: HttpRequest) -> int:
    """The hours that the overview covers. An invalid value gives the fewest hours."""
    asked = request.GET.get("hours", "")
    return next((hours for hours in SPANS if str(hours) == asked), min(SPANS))
