"""The permissions of a user on the crawl that a request names in its path. A user who may not act
on the crawl has a viewer's permissions for the request. So each view, endpoint, file and button
that checks a permission observes the rule of teams without a further check.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from pydantic import TypeAdapter, ValidationError

from crawling.installation.permissions import (
    ACTS,
    crawl_out_of_reach,
    is_restricted,
    refusal_in_words,
)
from serving.access import withhold

#: every path below these is about the crawl with the number that follows
ROOTS = ("/crawls/", "/api/v1/crawls/")
#: reads numbers as the API reads them from a path, which accepts more spellings than pages do
NUMBER = TypeAdapter(int)


class CrawlPermissionsMiddleware:
    """Middleware for users who are logged in before their view is found, by a session, or by a
    token for a file. A token for the API is read later, where `withhold_permissions` is called.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        withhold_permissions(request, request.user)
        return self.get_response(request)


def withhold_permissions(request: HttpRequest, user: User | AnonymousUser) -> None:
    """Remove the permissions for acting on crawls from the user of a request, if it names a crawl
    on which the user may not act.
    """
    number = crawl_id_in_path(request.path_info)
    if number is None or not user.is_authenticated:
        return
    crawl = crawl_out_of_reach(user, number)
    if crawl is not None:
        request.refused_acts = why = refusal_in_words(crawl)  # type: ignore[attr-defined]
        withhold(user, dict.fromkeys(ACTS, why))


def refused_permissions(request: HttpRequest) -> str:
    """The sentence that names the users who may act on the crawl of a request, if its user may not;
    otherwise "".
    """
    return str(getattr(request, "refused_acts", ""))


def answer_scope_key(request: HttpRequest) -> str:
    """The part of the key for an answer about many crawls that depends on the crawls on which the
    user may act; "" if the user's permissions alone decide the answer.
    """
    user = request.user
    if crawl_id_in_path(request.path_info) is not None or not user.is_authenticated:
        return ""
    acts = not user.is_superuser and ACTS & user.get_all_permissions()
    return f"crawls of {user.pk}" if acts and is_restricted(user) else ""


def crawl_id_in_path(path: str) -> int | None:
    """The number of the crawl that a path is about."""
    root = next((root for root in ROOTS if path.startswith(root)), None)
    if root is None:
        return None
    try:
        return NUMBER.validate_python(path.removeprefix(root).partition("/")[0])
    except ValidationError:
        return None
