"""Answers a request for a withdrawn page with 410, since the page existed and will not return."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from crawling.base.errors import Withdrawn


class WithdrawnPageMiddleware:
    """Middleware: the page for people. The API's handlers answer programs."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, Withdrawn):
            return None
        return render(request, "410.html", {"sentence": str(error)}, status=410)
