"""The page on which the form stood that a request was sent from."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def page_sent_from(request: HttpRequest) -> str:
    """Its path and query, as the browser names it; "" if it is none of ours."""
    sent_from = urlsplit(request.headers.get("Referer", ""))
    is_ours = url_has_allowed_host_and_scheme(sent_from.geturl(), {request.get_host()})
    return sent_from._replace(scheme="", netloc="").geturl() if is_ours else ""
