"""Why a host waits for its name, and what a crawl's accesses would have cost under other caches."""

from __future__ import annotations

from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import render

from crawling.dashboard.hosts.dns_replay import MOST_ACCESSES, replayed
from crawling.dashboard.hosts.filter import LONGEST
from crawling.dashboard.hosts.name_wait import why_waits
from crawling.models import Page, Run
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import asked_text

CAPACITIES = (100, 1_000, 10_000, 100_000)
RUNS = 50


@authenticated(needs="dnscache.view_dnsentry")
def why(request: AuthenticatedRequest) -> HttpResponse:
    """Say why the host `?host=` waits."""
    host = asked_text(request.GET, "host", most=LONGEST).lower()
    return render(
        request, "names/why.html", {"host": host, "wait": why_waits(host) if host else None}
    )


@authenticated(needs="dnscache.view_dnsentry")
def replay(request: AuthenticatedRequest) -> HttpResponse:
    """Replay the accesses of the run `?run=` in a cache of `?names=` names."""
    runs = list(
        Run.objects.filter(Exists(Page.objects.filter(run=OuterRef("pk"))))
        .select_related("crawl")
        .order_by("-pk")[:RUNS]
    )
    chosen = next((run for run in runs if str(run.pk) == request.GET.get("run")), None)
    capacity = next((size for size in CAPACITIES if str(size) == request.GET.get("names")), 10_000)
    told = replayed(chosen, capacity=capacity) if chosen else None
    context = {
        "runs": runs,
        "run": chosen,
        "capacity": capacity,
        "capacities": CAPACITIES,
        "told": told,
        "most": MOST_ACCESSES,
    }
    return render(request, "names/replay.html", context)
