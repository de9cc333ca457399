"""An ID for each request: in the head of its answer, in its lines of the log, and on error
pages.
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


def current_request_id() -> str:
    """The id of the current request; empty outside one."""
    return _current.get()


class RequestIdMiddleware:
    """Middleware: gives the ID. It is never taken from the client, since a reported ID must occur
    in our log exactly once.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = _current.set(secrets.token_hex(6))
        try:
            response = self.get_response(request)
            response[HEADER] = current_request_id()
            return response
        finally:
            _current.reset(token)


def add_request_id(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """A processor of log lines that adds the ID."""
    if number := current_request_id():
        event["request_id"] = number
    return event


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for a fault of ours.

    It uses no context of the request, since the fault may be in the context.
    """
    return HttpResponseServerError(
        render_to_string("500.html", {"request_id": current_request_id()})
    )
