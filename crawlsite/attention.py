"""What needs attention now, for the bell of every page: the same that the overview names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from django.core.cache import cache
from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from redis.exceptions import RedisError

from allocation.alarms import alarms
from crawling.dashboard.crawls.overview import crawl_problems
from crawlsite.health.probes import parts
from serving.access import AuthenticatedRequest, authenticated

#: the cache key of their number for all users, and its seconds: every page reads it
KEPT, KEPT_SECONDS = "attention/count", 5


@dataclass(frozen=True)
class OpenProblem:
    """Something that needs attention."""

    #: as pages show states
    state: str
    name: str
    address: str
    sentence: str


def open_problems() -> list[OpenProblem]:
    """Of parts of the product, of pools and of crawls."""
    return list(_open_problems())


def _open_problems() -> Iterator[OpenProblem]:
    for part in parts():
        if not part.is_fine:
            yield OpenProblem("failed", part.name, reverse("health"), part.sentence)
    for alarm in alarms():
        address = reverse("allocation:pool", args=[alarm.pool])
        yield OpenProblem("unsafe", alarm.name, address, alarm.text)
    for problem in crawl_problems():
        address = reverse("crawling:crawl", args=[problem.crawl.pk])
        yield OpenProblem(problem.word, problem.crawl.name, address, problem.sentence)


def _count() -> int:
    with suppress(RedisError):  # without it each counts
        found = cache.get(KEPT)
        if found is None:
            found = len(open_problems())
            cache.set(KEPT, found, KEPT_SECONDS)
        return int(found)
    return len(open_problems())


@authenticated(needs="crawling.view_crawljob")
def attention(request: AuthenticatedRequest) -> HttpResponse:
    """List what needs attention, each with a link to where it can be put right."""
    return render(request, "overview/attention.html", {"problems": open_problems()})


@authenticated(needs="crawling.view_crawljob")
def attention_count(request: AuthenticatedRequest) -> HttpResponse:
    """How many there are; what the bell asks for."""
    return JsonResponse({"count": _count()})
