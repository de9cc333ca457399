"""The admission of programs' requests. This check comes before any query, so that operators and
crawls never wait for programs.

A process answers one request of a program at a time and lets a few others wait; further ones are
refused at once. While programs send more than that and the machine is busy, the process rests after
each request for a multiple of the time that it took. A program that sends one request after the
other never has to wait for such a rest.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from threading import Lock
from time import monotonic, sleep
from typing import NamedTuple

import psutil
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from crawlsite.api.auth import has_exhausted_requests
from crawlsite.middleware.program_admission import (
    AGAIN_SECONDS,
    NO_PLACE,
    PROGRAM_PATHS,
    admission_of,
)
from serving.visitors import seconds_left

#: the least share of idle cores; below it, programs that send too many requests get the second
#: share of a process's time
LITTLE_IDLE, SHARE = 0.25, 0.05
#: the interval at which the load of the machine is read, the time for which requests of programs
#: are delayed after one had to wait, and the longest delay
LOOK_SECONDS, CROWD_SECONDS, MOST_SECONDS = 1.0, 1.0, 1.5


class AdmissionMiddleware:
    """Middleware: 429 for a caller beyond the limit of a minute, 503 if all places are taken.

    Neither answer takes a query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._admission = admission_of(settings.WEB_THREADS)
        self._turn = Lock()
        self._load = MachineLoad()
        self._rests_until = 0.0

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(PROGRAM_PATHS):
            return self.get_response(request)
        if has_exhausted_requests(request):
            return _refusing_answer(
                request, HTTPStatus.TOO_MANY_REQUESTS, too_many(seconds_left()), seconds_left()
            )
        if self._turn.locked():
            self._admission.crowded_at = monotonic()
        if not self._admission.admit():
            return _refusing_answer(
                request, HTTPStatus.SERVICE_UNAVAILABLE, NO_PLACE, AGAIN_SECONDS
            )
        try:
            with self._turn:
                return self._delayed_response(request)
        finally:
            self._admission.leave()

    def _delayed_response(self, request: HttpRequest) -> HttpResponse:
        began = monotonic()
        sleep(max(0.0, self._rests_until - began))
        began = monotonic()
        response = self.get_response(request)
        ended = monotonic()
        if ended - self._admission.crowded_at < CROWD_SECONDS and self._load.is_high(ended):
            self._rests_until = ended + min((ended - began) * (1 / SHARE - 1), MOST_SECONDS)
        return response


class MachineLoad:
    """The load of the machine: whether crawls and operators use all that programs would use.

    This compares the processors' times itself, since `psutil.cpu_percent` does so for each thread
    separately, and returns 0 on a thread's first call.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._looked_at = monotonic()
        self._times = cores_times()
        self._is_high = False

    def is_high(self, now: float) -> bool:
        """Whether the load was high over the last second or longer, whichever thread reads it."""
        with self._lock:
            if now - self._looked_at >= LOOK_SECONDS:
                before, self._times = self._times, cores_times()
                self._looked_at = now
                passed = self._times.all - before.all
                self._is_high = passed > 0 and self._times.idle - before.idle < LITTLE_IDLE * passed
        return self._is_high


class CoresTimes(NamedTuple):
    """Seconds of all cores since the machine started, in total and idle."""

    all: float
    idle: float


def cores_times() -> CoresTimes:
    times = psutil.cpu_times()
    # a guest's time is a part of the user's
    spent = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return CoresTimes(spent, times.idle + getattr(times, "iowait", 0.0))


def too_many(seconds: float) -> str:
    return (
        f"Too many requests in this minute; ask again in {seconds} s. The limit is a setting, "
        "API_REQUESTS_A_MINUTE."
    )


def _refusing_answer(
    request: HttpRequest, status: HTTPStatus, sentence: str, seconds: int
) -> HttpResponse:
    request.is_refused = True  # type: ignore[attr-defined]  # for the log, which leaves it out
    return JsonResponse({"detail": sentence}, status=status, headers={"Retry-After": str(seconds)})
