"""An ID for each request: in the head of its answer, in its lines of the log, and on what says that
something went wrong.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse, HttpResponseServerError
from django.template.loader import render_to_string
from structlog.typing import EventDict, WrappedLogger

HEADER = "X-Request-ID"
_current: ContextVar[str] = ContextVar("request_id", default="")


def current_id() -> str:
    """The id of the request in hand; empty outside of one."""
    return _current.get()


class RequestIdMiddleware:
    """Middleware: gives the ID. Ours, not the client's: what is quoted to us must be in our log
    once.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = _current.set(secrets.token_hex(6))
        try:
            response = self.get_response(request)
            response[HEADER] = current_id()
            return response
        finally:
            _current.reset(token)


def add_request_id(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """A processor of log lines."""
    if number := current_id():
        event["request_id"] = number
    return event


def server_error(request: HttpRequest) -> HttpResponse:
    """The page of a fault of ours.

    Without the request's context: whatever that would ask may be what is broken.
    """
    return HttpResponseServerError(render_to_string("500.html", {"request_id": current_id()}))
