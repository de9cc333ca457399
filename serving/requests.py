"""Facts of a request: the fields of its address or form, the page that had its form, and whether it
asks for a fragment. The script of a live page repeatedly asks for the fragment that changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

LONGEST_TEXT = 200


def asked_text(query: Mapping[str, Any], name: str, *, most: int = LONGEST_TEXT) -> str:
    """The text of a field in a form that the database can store: without NUL, trimmed, and cut; ""
    if the request has no such field.
    """
    return str(query.get(name, "")).replace("\0", "").strip()[:most]


def page_sent_from(request: HttpRequest) -> str:
    """The path and query of the page that sent the request, as the browser states it; "" if the
    page is not ours.
    """
    sent_from = urlsplit(request.headers.get("Referer", ""))
    is_ours = url_has_allowed_host_and_scheme(sent_from.geturl(), {request.get_host()})
    return sent_from._replace(scheme="", netloc="").geturl() if is_ours else ""


def wants_fragment(request: HttpRequest) -> bool:
    """Whether a script requests only the part that changes; a browser requests the whole page."""
    return bool(getattr(request, "htmx", False))


def render_live(
    request: HttpRequest,
    page: str,
    fragment: str,
    facts: Mapping[str, Any],
    status: int = 200,
    *,
    depends_on_user: bool = False,
) -> HttpResponse:
    """Render the page from its template, or its fragment; caches keep the two apart.

    depends_on_user: whether users with the same permissions and choices get different fragments.
    """
    is_fragment = wants_fragment(request)
    answer = render(request, fragment if is_fragment else page, dict(facts), status=status)
    patch_vary_headers(answer, ["HX-Request"])
    vars(answer)["is_common"] = is_fragment and not depends_on_user
    return answer


def render_framed(
    request: HttpRequest, page: str, facts: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page or its fragment from one template, which extends `frame`: the fragment is its
    block `content`.
    """
    frame = "bare.html" if wants_fragment(request) else "base.html"
    return render_live(request, page, page, {**facts, "frame": frame}, status)


def is_common(answer: HttpResponse) -> bool:
    """Whether a view has declared that all users with the same permissions and choices get the same
    answer.
    """
    return bool(vars(answer).get("is_common"))
