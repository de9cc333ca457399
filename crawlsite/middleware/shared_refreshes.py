"""Refreshes of live pages: rendered once for all who look at the same thing with the same
permissions, and not again while nothing is written; with the page's alarms, so that one that begins
or ends meanwhile shows.

Only a fragment is shared whose view has declared that it depends on nothing else, and for which
neither a CSRF token nor a message or anything else of a session was used.
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

#: the element that live.js asks for again
LIVE = "live"
#: a refresh is reused for this long, and for so many times as long as rendering it took, so that no
#: page takes more than a twentieth of a core's time; while the next is rendered, for STALE_SECONDS
#: more; and never longer than MOST_SECONDS in all
FRESH_SECONDS, TIMES, STALE_SECONDS, MOST_SECONDS = 1.0, 20, 2.0, 5.0
#: while nothing is written to PostgreSQL, a refresh is good for this long: what Redis knows
#: (workers, queues) and ages are this late at most
UNWRITTEN_SECONDS = 10.0
#: how long other requests wait for the first rendering, and how often they look
PATIENCE_SECONDS, LOOK_SECONDS = 2.0, 0.02
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
#: counts changes by people and programs: an older refresh is not reused
CHANGES = "refreshes/changes"


class RefreshAlarmsMiddleware:
    """Middleware: adds the banner of every page to the answer for its part that is live. live.js
    takes it out and puts it in its place.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if _is_refresh(request) and response.status_code == 200 and not response.streaming:
            response.write(render_to_string("_alarms_now.html", request=request))
        return response


class CachedRefresh(NamedTuple):
    #: when it was rendered, by the clock of its machine
    at: float
    #: seconds to render it
    took: float
    #: how much had been changed by then
    changes: int
    content: str
    content_type: str
    #: which transactions it has seen the end of
    seen: str

    def is_good(self, changes: int, *, more_seconds: float = 0) -> bool:
        good_for = min(max(FRESH_SECONDS, TIMES * self.took) + more_seconds, MOST_SECONDS)
        return self.changes == changes and abs(time.time() - self.at) < good_for

    def is_of_now(self, changes: int) -> bool:
        """Whether it is good, or no transaction has begun or ended since."""
        is_young = abs(time.time() - self.at) < UNWRITTEN_SECONDS
        return self.is_good(changes) or (
            self.changes == changes and is_young and self.seen == _seen_now()
        )


class SharedRefreshMiddleware:
    """Middleware: users with the same permissions get the same where a view declares it
    (`serving.requests.render_live`).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and _is_refresh(request) and request.user.is_authenticated:
            with suppress(RedisError):  # without it each renders his own
                return self._shared(request)
        response = self.get_response(request)
        if request.method not in SAFE_METHODS and response.status_code < HTTPStatus.BAD_REQUEST:
            _forget_all()
        return response

    def _shared(self, request: HttpRequest) -> HttpResponse:
        key = f"refreshes/{_digest(request)}"
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            kept, changes = _kept(key)
            if kept and kept.is_of_now(changes):
                return _answer(kept)
            if time.monotonic() > until or cache.add(
                f"{key}/rendering", 1, timeout=PATIENCE_SECONDS
            ):
                kept, changes = _kept(key)  # another may have rendered it since the look above
                if kept and kept.is_of_now(changes):
                    cache.delete(f"{key}/rendering")
                    return _answer(kept)
                return self._rendered(request, key, changes)
            if kept and kept.is_good(changes, more_seconds=STALE_SECONDS):
                return _answer(kept)
            time.sleep(LOOK_SECONDS)  # another process renders it; Redis has it then

    def _rendered(self, request: HttpRequest, key: str, changes: int) -> HttpResponse:
        try:
            at, seen = time.time(), _seen_now()
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


def _kept(key: str) -> tuple[CachedRefresh | None, int]:
    """A refresh that was rendered before, and the number of changes so far."""
    found = cache.get_many([key, CHANGES])
    return CachedRefresh(*found[key]) if key in found else None, found.get(CHANGES, 0)


def _seen_now() -> str:
    """PostgreSQL's present snapshot: it changes with every transaction that writes, when that
    begins and when its rows can be seen."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_snapshot()::text")
        return str(cursor.fetchone()[0])


def _digest(request: HttpRequest) -> str:
    """The digest of all a refresh may depend on: its address, and its user's permissions and
    choices.
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


def _answer(kept: CachedRefresh) -> HttpResponse:
    return HttpResponse(
        kept.content, content_type=kept.content_type, headers={"Vary": "HX-Request, Cookie"}
    )


def _forget_all() -> None:
    """If Redis does not answer, the entry expires by itself a little later."""
    with suppress(RedisError, ValueError):  # a ValueError: Redis lost the count in between
        if not cache.add(CHANGES, 1, timeout=None):
            cache.incr(CHANGES)
