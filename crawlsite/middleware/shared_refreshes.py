"""Refreshes of live pages. A refresh is rendered once for all users who view the same page with the
same permissions, and again only after a write to the database. They include the page's alarms, so
that an alarm that begins or ends meanwhile is shown.

A fragment is shared only if its view has declared that it depends on nothing else, and if neither a
CSRF token, nor a message, nor any other part of a session was used for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from http import HTTPStatus
from typing import NamedTuple

from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from redis.exceptions import RedisError

from crawlsite.middleware.crawl_permissions import answer_scope_key
from serving.list_choices import choices_of
from serving.requests import is_common, wants_fragment

#: the element that live.js requests again
LIVE = "live"
#: the elements whose answers are shared: that one, and the results of a search
SHARED = {LIVE, "results"}
#: a refresh is reused for FRESH_SECONDS, and for TIMES as long as its rendering took, so that no
#: page takes more than a twentieth of a core's time. While the next refresh is rendered, the old
#: one is reused for STALE_SECONDS more, but never for longer than MOST_SECONDS in total
FRESH_SECONDS, TIMES, STALE_SECONDS, MOST_SECONDS = 1.0, 20, 2.0, 5.0
#: the seconds for which a refresh is valid if nothing is written to PostgreSQL; facts from Redis
#: (workers, queues) and ages are late by at most this time
UNWRITTEN_SECONDS = 10.0
#: the time for which other requests wait for the first rendering, and the interval at which they
#: check
PATIENCE_SECONDS, LOOK_SECONDS = 2.0, 0.02
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
#: the key of the count of changes by people and programs; a refresh from before a change is not
#: reused
CHANGES = "refreshes/changes"


class RefreshAlarmsMiddleware:
    """Middleware: adds the banner of every page to the answer for its live part. live.js takes it
    out and puts it in its place.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if _is_refresh(request) and response.status_code == 200 and not response.streaming:
            response.write(render_to_string("_alarms_now.html", request=request))
        return response


class CachedRefresh(NamedTuple):
    #: the time of its rendering, by the clock of its machine
    at: float
    #: the seconds of its rendering
    took: float
    #: the number of changes at that time
    changes: int
    content: str
    content_type: str
    #: PostgreSQL's snapshot at that time
    seen: str

    def is_usable(self, changes: int, *, more_seconds: float = 0) -> bool:
        good_for = min(max(FRESH_SECONDS, TIMES * self.took) + more_seconds, MOST_SECONDS)
        return self.changes == changes and abs(time.time() - self.at) < good_for

    def is_current(self, changes: int) -> bool:
        """Whether it is still fresh, or no transaction has begun or ended since it was rendered."""
        is_young = abs(time.time() - self.at) < UNWRITTEN_SECONDS
        return self.is_usable(changes) or (
            self.changes == changes and is_young and self.seen == _current_changes()
        )


class SharedRefreshMiddleware:
    """Middleware: users with the same permissions get the same refresh if its view declares so
    (`serving.requests.render_live`).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and _is_shared(request) and request.user.is_authenticated:
            with suppress(RedisError):  # without Redis each request is rendered separately
                return self._shared_answer(request)
        response = self.get_response(request)
        if request.method not in SAFE_METHODS and response.status_code < HTTPStatus.BAD_REQUEST:
            _forget_cached_refreshes()
        return response

    def _shared_answer(self, request: HttpRequest) -> HttpResponse:
        key = f"refreshes/{_request_digest(request)}"
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            kept, changes = _cached_refresh(key)
            if kept and kept.is_current(changes):
                return _answer_from_cache(kept)
            if time.monotonic() > until or cache.add(
                f"{key}/rendering", 1, timeout=PATIENCE_SECONDS
            ):
                # another process may have rendered the page since the look above
                kept, changes = _cached_refresh(key)
                if kept and kept.is_current(changes):
                    cache.delete(f"{key}/rendering")
                    return _answer_from_cache(kept)
                return self._rendered(request, key, changes)
            if kept and kept.is_usable(changes, more_seconds=STALE_SECONDS):
                return _answer_from_cache(kept)
            time.sleep(LOOK_SECONDS)  # another process renders the page, and stores it in Redis

    def _rendered(self, request: HttpRequest, key: str, changes: int) -> HttpResponse:
        try:
            at, seen = time.time(), _current_changes()
            response = self.get_response(request)
            if _may_be_shared(request, response):
                took, kind = time.time() - at, response["Content-Type"]
                kept = CachedRefresh(at, took, changes, response.text, kind, seen)
                cache.set(key, tuple(kept), timeout=max(1, MOST_SECONDS, UNWRITTEN_SECONDS))
            return response
        finally:
            cache.delete(f"{key}/rendering")


def _is_refresh(request: HttpRequest) -> bool:
    return wants_fragment(request) and request.headers.get("HX-Target") == LIVE


def _is_shared(request: HttpRequest) -> bool:
    return wants_fragment(request) and request.headers.get("HX-Target") in SHARED


def _may_be_shared(request: HttpRequest, response: HttpResponse) -> bool:
    has_used_token = request.META.get("CSRF_COOKIE_NEEDS_UPDATE", False)
    messages = getattr(request, "_messages", None)
    has_shown_messages = messages is not None and messages.used
    return (
        response.status_code == HTTPStatus.OK
        and not response.streaming
        and is_common(response)
        and not (response.cookies or has_used_token or has_shown_messages)
        and not request.session.modified
    )


def _cached_refresh(key: str) -> tuple[CachedRefresh | None, int]:
    """A refresh that was rendered before, and the current number of changes."""
    found = cache.get_many([key, CHANGES])
    return CachedRefresh(*found[key]) if key in found else None, found.get(CHANGES, 0)


def _current_changes() -> str:
    """PostgreSQL's current snapshot. It changes with every writing transaction, when it begins and
    when its rows become visible.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_snapshot()::text")
        return str(cursor.fetchone()[0])


def _request_digest(request: HttpRequest) -> str:
    """The digest of everything on which a refresh may depend: its address, its user's permissions,
    and the user's preferences.
    """
    parts = (
        request.scheme or "",
        request.get_full_path(),
        request.get_host(),
        timezone.get_current_timezone_name(),
        repr(choices_of(request)),
        answer_scope_key(request),
        *sorted(request.user.get_all_permissions()),
    )
    return blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _answer_from_cache(kept: CachedRefresh) -> HttpResponse:
    return HttpResponse(
        kept.content, content_type=kept.content_type, headers={"Vary": "HX-Request, Cookie"}
    )


def _forget_cached_refreshes() -> None:
    """Forget all refreshes. If Redis does not answer, they expire a little later."""
    # a ValueError means that Redis has lost the count meanwhile
    with suppress(RedisError, ValueError):
        if not cache.add(CHANGES, 1, timeout=None):
            cache.incr(CHANGES)
