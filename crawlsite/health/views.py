"""`/healthz`: this process answers. `/readyz`: everything it needs answers, too."""

from __future__ import annotations

import django_rq
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from allocation.checks import missing_units
from crawling.keeper.leader import is_somebody_leading
from crawling.keeper.messages import QUEUE, live_workers

OK = "ok"


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{OK}\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """503 unless PostgreSQL, its tables, Redis and the bank are fit for use. Workers and keeper are told of, but pages work without."""
    needed = {"postgresql": _postgresql(), "redis": _redis()}
    needed["bank"] = _bank() if needed["postgresql"] == OK else "unknown"
    told = {
        **needed,
        "workers": _workers() if needed["redis"] == OK else "unknown",
        "keeper": _keeper() if needed["postgresql"] == OK else "unknown",
    }
    return JsonResponse(told, status=200 if all(state == OK for state in needed.values()) else 503)


def _postgresql() -> str:
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return f"no answer: {type(error).__name__}"
    return f"{len(pending)} migrations are to be run" if pending else OK


def _bank() -> str:
    return " ".join(missing_units()) or OK


def _redis() -> str:
    try:
        django_rq.get_connection(QUEUE).ping()
    except RedisError as error:
        return f"no answer: {type(error).__name__}"
    return OK


def _workers() -> str:
    count = live_workers()
    return f"{count} for crawls" if count else "none: no crawl goes on"


def _keeper() -> str:
    return OK if is_somebody_leading() else "none: no crawl starts"
