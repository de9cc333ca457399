"""Lets people and programs on the server itself log in by plain HTTP, while all others use
HTTPS.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port

logger = logging.getLogger(__name__)

LOOPBACK_NAMES = {"127.0.0.1", "localhost", "[::1]"}
#: headers that proxies add; with one of them the browser is elsewhere, whatever name the proxy uses
OF_PROXIES = {
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
}
#: headers that browsers add; every request that logs in has the first of them
OF_BROWSERS = ("HTTP_ORIGIN", "HTTP_REFERER")
ELSEWHERE = (
    "a browser at %s was answered by the name %s, which is for this machine alone: the proxy "
    "passes on neither Host nor X-Forwarded-Proto; see docs/deployment.md"
)


class PlainLoopbackMiddleware:
    """Remove `Secure` from the cookies of an answer that is sent unencrypted to a loopback name.

    A browser would drop a `Secure` cookie there, and with it the log-in. Answers for the public
    name keep the attribute, even if a proxy does not report HTTPS. So do answers to a browser that
    shows another name than the one in the proxy's request.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        name, _ = split_domain_port(request.META.get("HTTP_HOST", ""))
        is_direct = OF_PROXIES.isdisjoint(request.META)
        if response.cookies and is_direct and not request.is_secure() and name in LOOPBACK_NAMES:
            if place := _public_address_warning(request):
                logger.warning(ELSEWHERE, place, name)
                return response
            for cookie in response.cookies.values():
                cookie["secure"] = ""
        return response


def _public_address_warning(request: HttpRequest) -> str:
    """The address that the browser shows, if it is not of this machine; otherwise ""."""
    told = (request.META[name] for name in OF_BROWSERS if name in request.META)
    return next((place[:200] for place in told if _url_host(place) not in LOOPBACK_NAMES), "")


def _url_host(place: str) -> str:
    try:
        return split_domain_port(urlsplit(place).netloc)[0]
    except ValueError:
        return ""
