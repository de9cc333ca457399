"""Live pages: the script of a page that is open asks for its changing part, a fragment, again and
again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers


def wants_fragment(request: HttpRequest) -> bool:
    """Whether a script asks for the part that changes; a browser asks for the page."""
    return bool(getattr(request, "htmx", False))


def render_live(
    request: HttpRequest, page: str, fragment: str, facts: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """The page by its template, or its fragment; caches keep the two apart."""
    template = fragment if wants_fragment(request) else page
    answer = render(request, template, dict(facts), status=status)
    patch_vary_headers(answer, ["HX-Request"])
    return answer
