"""The caller, which is a program with its token or a browser with its session, and the limit of its
requests in each minute of the clock, counted in Redis for all web processes together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja.errors import AuthenticationError, HttpError, Throttled
from ninja.security import HttpBearer, SessionAuth
from ninja.throttling import BaseThrottle
from ninja.utils import check_csrf

from crawlsite.middleware.crawl_permissions import withhold_permissions
from crawlsite.tokens import ASKED_BY, find_token, token_in_request
from serving.visitors import count_request, seconds_left, this_minute, visitor_address

logger = logging.getLogger(__name__)

#: RFC 9110, section 9.2.1
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
READS_ONLY = (
    "This token only reads (GET). Make one that may do all that you may, on the page Tokens "
    "(/account/tokens/)."
)
#: the most wrong tokens that an address may send in a minute; wrong tokens are guesses, or tokens
#: that were revoked
WRONG_TOKENS = 30


class RequestsAMinute(BaseThrottle):
    """The limit, counted by token, or by user for a session."""

    def allow_request(self, request: HttpRequest) -> bool:
        token = token_in_request(request)
        is_allowed = (
            count_request(
                f"token/{_digest(token)}" if token is not None else f"user/{request.user.pk}"
            )
            <= settings.API_REQUESTS_A_MINUTE
        )
        if not is_allowed:
            _spent.add(_caller_id(request))
        return is_allowed

    def wait(self) -> float:
        return seconds_left()


class ExhaustedCallers:
    """The callers that have used up the current minute, as far as this process knows. Further
    requests of these callers are refused without a query to the database or to Redis.
    """

    def __init__(self) -> None:
        self._callers: set[str] = set()
        self._minute = 0

    def add(self, caller: str) -> None:
        self._start_minute()
        self._callers.add(caller)

    def __contains__(self, caller: str) -> bool:
        self._start_minute()
        return caller in self._callers

    def _start_minute(self) -> None:
        minute = this_minute()
        if minute != self._minute:
            self._callers, self._minute = set(), minute


_spent = ExhaustedCallers()


def has_exhausted_requests(request: HttpRequest) -> bool:
    """Whether the caller of a request got 429 in this minute."""
    return _caller_id(request) in _spent


def count_wrong_token(request: HttpRequest) -> None:
    """Count a wrong token. Raises Throttled once the address has sent too many in this minute."""
    if count_request(f"wrong/{visitor_address(request)}") > WRONG_TOKENS:
        raise Throttled(wait=seconds_left())


def _caller_id(request: HttpRequest) -> str:
    """The token or the session of a request, before it is checked."""
    token = token_in_request(request)
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return f"session/{_digest(session)}" if token is None else f"token/{_digest(token)}"


def _digest(secret: str) -> str:
    return sha256(secret.encode(errors="replace")).hexdigest()


class Token(HttpBearer):
    """`Authorization: Bearer TOKEN`. A wrong token is an error even if the request has a
    session.
    """

    def authenticate(self, request: HttpRequest, token: str) -> User:
        found = find_token(token)
        if found is None:
            count_wrong_token(request)
            raise AuthenticationError(
                message="The token is not known or has expired, or its user may not log in."
            )
        if found.reads_only and request.method not in SAFE_METHODS:
            raise HttpError(403, READS_ONLY)
        user = found.user
        setattr(request, ASKED_BY, found)
        request.user = user  # views check the permissions of this user after any kind of log-in
        withhold_permissions(request, user)
        return user


class Session(SessionAuth):
    """The dashboard's cookie. A request that changes something needs Django's CSRF token, too."""

    def __call__(self, request: HttpRequest) -> Any | None:
        if not request.user.is_authenticated:
            return None
        if check_csrf(request):
            raise HttpError(
                403,
                "The CSRF token is missing or wrong; send the cookie `csrftoken` in the header "
                "X-CSRFToken too.",
            )
        return request.user


WAYS = (Token(), Session())
#: the message for a request with neither token nor session
LOG_IN = (
    "Log in, or send a token as `Authorization: Bearer TOKEN`; the page Tokens makes one, and "
    "`manage.py api_token`."
)


def members_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Guard the description of the endpoints, which requires a log-in, by session or token. Without
    a log-in the page redirects to the log-in, and the JSON is refused as JSON.
    """

    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        try:
            known = any(way(request) for way in WAYS)
        except HttpError:
            known = False
        if known:
            return view(request, **kwargs)
        if request.path.endswith(".json"):
            headers = {"WWW-Authenticate": "Bearer"}
            return JsonResponse({"detail": LOG_IN}, status=401, headers=headers)
        return redirect_to_login(request.get_full_path())

    return guarded
