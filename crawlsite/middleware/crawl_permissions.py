"""The permissions of a user on the crawl that a request names in its path: one who may not act on
it has a viewer's permissions for the request, so that each view, endpoint, file and button that
checks a permission keeps the boundary of teams without a check of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from pydantic import TypeAdapter, ValidationError

from crawling.installation.permissions import ACTS, crawl_out_of_reach, is_restricted, refusal
from serving.access import withhold

#: whatever lies below is about the crawl of the number that follows
ROOTS = ("/crawls/", "/api/v1/crawls/")
#: numbers as the API reads them from a path, which knows more spellings than pages do
NUMBER = TypeAdapter(int)


class CrawlPermissionsMiddleware:
    """Middleware for users who are logged in before their view is found: by a session, or by a
    token for a file. A token for the API is read later, and `withhold_acts` is called there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        withhold_acts(request, request.user)
        return self.get_response(request)


def withhold_acts(request: HttpRequest, user: User | AnonymousUser) -> None:
    """Take what acts on crawls from the permissions of the user of a request, if it names a crawl
    that the user may not act on.
    """
    number = named_crawl(request.path_info)
    if number is None or not user.is_authenticated:
        return
    crawl = crawl_out_of_reach(user, number)
    if crawl is not None:
        request.refused_acts = why = refusal(crawl)  # type: ignore[attr-defined]
        withhold(user, dict.fromkeys(ACTS, why))


def refused_acts(request: HttpRequest) -> str:
    """The sentence that names the users who act on the crawl of a request, if its user may not;
    otherwise "".
    """
    return str(getattr(request, "refused_acts", ""))


def answer_scope_key(request: HttpRequest) -> str:
    """The part of an answer about many crawls that its user's permissions do not decide: whose
    crawls the user acts on; "" where permissions say it all.
    """
    user = request.user
    if named_crawl(request.path_info) is not None or not user.is_authenticated:
        return ""
    acts = not user.is_superuser and ACTS & user.get_all_permissions()
    return f"crawls of {user.pk}" if acts and is_restricted(user) else ""


def named_crawl(path: str) -> int | None:
    """The number of the crawl that a path is about."""
    root = next((root for root in ROOTS if path.startswith(root)), None)
    if root is None:
        return None
    try:
        return NUMBER.validate_python(path.removeprefix(root).partition("/")[0])
    except ValidationError:
        return None
