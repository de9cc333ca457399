"""Files of pages (CSV, JSON Lines, Parquet and others) for programs. A token gives access to them
as to the API, and they count towards the same limit of requests.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import Resolver404, resolve
from ninja.errors import AuthenticationError, Throttled

from crawlsite.api.admission import too_many
from crawlsite.api.auth import RequestsAMinute, Token
from serving.visitors import seconds_left


class FileTokenMiddleware:
    """Middleware: a request for a file that has a token gets the token's user.

    A token does not give access to pages, since pages and forms are for sessions, which CSRF tokens
    guard.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self._token, self._limit = Token(), RequestsAMinute()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "Authorization" not in request.headers or not _is_file(request):
            return self.get_response(request)
        try:
            is_known = bool(self._token(request))
            is_allowed = not is_known or self._limit.allow_request(request)
        except AuthenticationError as error:
            headers = {"WWW-Authenticate": "Bearer"}
            return JsonResponse(
                {"detail": str(error)}, status=HTTPStatus.UNAUTHORIZED, headers=headers
            )
        except Throttled:  # too many wrong tokens
            is_allowed = False
        if is_allowed:
            return self.get_response(request)
        return JsonResponse(
            {"detail": too_many(seconds_left())},
            status=HTTPStatus.TOO_MANY_REQUESTS,
            headers={"Retry-After": str(seconds_left())},
        )


def _is_file(request: HttpRequest) -> bool:
    """Whether the route of a request is that of a file. Such a route ends with a dot and the kind
    of the file.
    """
    if request.method not in ("GET", "HEAD"):
        return False
    try:
        kind = resolve(request.path_info).kwargs.get("kind")
    except Resolver404:
        return False
    return bool(kind) and request.path_info.endswith(f".{kind}")
