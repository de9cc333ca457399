"""`/healthz`: this process answers.

`/readyz`: everything it needs answers, too. `/health/`: all of it in numbers, for people.
"""

from __future__ import annotations

from threading import Lock
from time import monotonic

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from crawlsite.health import probes
from crawlsite.health.probes import OK
from crawlsite.health.report import report
from serving.access import AuthenticatedRequest, authenticated
from serving.fragments import render_live

#: how long an answer of `/readyz` is reused
KEPT_SECONDS = 1.0
_asking = Lock()
_told: tuple[float, dict[str, str], int] = (-KEPT_SECONDS, {}, 503)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{OK}\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """503 unless PostgreSQL, its tables, Redis and the pools are fit for use.

    Workers and scheduler are reported, but pages work without.

    It is public and has no rate limit; an answer is reused for KEPT_SECONDS, so that requests cost
    nothing.
    """
    global _told
    with _asking:
        at, told, status = _told
        if monotonic() - at >= KEPT_SECONDS:
            told, status = _readiness()
            _told = monotonic(), told, status
    return JsonResponse(told, status=status)


def _readiness() -> tuple[dict[str, str], int]:
    needed = {"postgresql": probes.postgresql(), "redis": probes.redis()}
    needed["pools"] = probes.pools() if needed["postgresql"] == OK else "unknown"
    told = {
        **needed,
        "workers": probes.workers() if needed["redis"] == OK else "unknown",
        "scheduler": probes.scheduler() if needed["postgresql"] == OK else "unknown",
    }
    return told, 200 if all(state == OK for state in needed.values()) else 503


@authenticated(needs="crawling.view_crawljob")
def health(request: AuthenticatedRequest) -> HttpResponse:
    """Servers, queues, workers, disk, clock and versions."""
    return render_live(request, "health/health.html", "health/_health.html", {"report": report()})
