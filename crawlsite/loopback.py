"""Lets people and programs on the server itself log in over plain HTTP while everybody else comes through HTTPS."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port

LOOPBACK_NAMES = {"127.0.0.1", "localhost", "[::1]"}
#: what proxies add: the browser is elsewhere then, whatever name the proxy asks for
OF_PROXIES = {
    "HTTP_FORWARDED",
    "HTTP_VIA",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
}


class PlainLoopback:
    """Take `Secure` off the cookies of an answer that goes out unencrypted to a loopback name.

    A browser would drop such a cookie, and the log-in with it. Answers to the public name keep theirs, even where a proxy
    forgets to say that it speaks HTTPS.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        name, _ = split_domain_port(request.META.get("HTTP_HOST", ""))
        is_direct = OF_PROXIES.isdisjoint(request.META)
        if is_direct and not request.is_secure() and name in LOOPBACK_NAMES:
            for cookie in response.cookies.values():
                cookie["secure"] = ""
        return response
