"""Answers a request that waits too long for a row lock with 503 and Retry-After, since this is no
fault of ours.
"""

from __future__ import annotations

from collections.abc import Callable

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from psycopg.errors import LockNotAvailable

from allocation.errors import BankBusy
from crawling.base.errors import InquiriesBusy

#: the seconds after which a client tries again: a transaction that holds a run's row for ten
#: seconds is ended at most five seconds later
AGAIN_SECONDS = 5


def is_busy(error: Exception) -> bool:
    """Whether a wait for a lock failed, or a queue is full."""
    return isinstance(error, BankBusy | InquiriesBusy) or (
        isinstance(error, OperationalError) and isinstance(error.__cause__, LockNotAvailable)
    )


class RetryLaterMiddleware:
    """Middleware: the page for people. The API's handlers answer programs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not is_busy(error):
            return None
        page = render_to_string("503.html", {"seconds": AGAIN_SECONDS})
        return HttpResponse(page, status=503, headers={"Retry-After": str(AGAIN_SECONDS)})
