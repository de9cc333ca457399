"""Who asks: a program by its token, or a browser by its session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja.errors import AuthenticationError, HttpError
from ninja.security import HttpBearer, SessionAuth
from ninja.utils import check_csrf

from crawlsite.api.rate_limit import count_wrong_token
from crawlsite.tokens import user_of


class Token(HttpBearer):
    """`Authorization: Bearer TOKEN`. A wrong token is an error even where a session would do."""

    def authenticate(self, request: HttpRequest, token: str) -> User:
        user = user_of(token)
        if user is None:
            count_wrong_token(request)
            raise AuthenticationError(
                message="The token is not known or has expired, or its user may not log in."
            )
        request.user = user  # views check permissions of it, after any kind of log-in
        return user


class Session(SessionAuth):
    """The cookie of the dashboard. Whatever changes something needs Django's CSRF token as well."""

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
#: the message for a request with neither
LOG_IN = (
    "Log in, or send a token as `Authorization: Bearer TOKEN`; the page Tokens makes one, and "
    "`manage.py api_token`."
)


def members_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The description of the endpoints needs a log-in, by session or token. Without one its page
    redirects to the log-in; its JSON is refused as JSON.
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
