"""The guards of views and endpoints: they require a log-in, a permission, and a method.

Permissions are Django's, as `app.codename`; `crawlsite/administration/accounts.py` gives them to
roles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_http_methods

from serving.requests import page_sent_from

SESSION_ENDED = (
    "Your session has ended, and nothing was changed. Log in to return to the page; what you typed "
    "is filled in again, except passwords and files."
)
#: the attribute of a user with permissions of the role that do not count now, each with a sentence
#: that says who has it
WITHHELD = "_withheld_permissions"
P = ParamSpec("P")
V = TypeVar("V")
R = TypeVar("R")


class AuthenticatedRequest(HttpRequest):
    """A request to views behind `authenticated` and to endpoints: its user is logged in."""

    user: User


def authenticated(
    *, needs: str, methods: Sequence[str] = ("GET",)
) -> Callable[
    [Callable[Concatenate[AuthenticatedRequest, P], HttpResponseBase]],
    Callable[Concatenate[HttpRequest, P], HttpResponseBase],
]:
    """Guard a page: 405 for another method, then the log-in page without a log-in, then 403 without
    the permission `needs`; "" lets in every logged-in user.

    The attribute `needs` of the guarded view states its permission.
    """

    def guard(
        view: Callable[Concatenate[AuthenticatedRequest, P], HttpResponseBase],
    ) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        permitted = cast("Callable[Concatenate[HttpRequest, P], HttpResponseBase]", view)
        if needs:
            permitted = _guard_view(permitted, needs)
        guarded = require_http_methods(list(methods))(_logged_in(permitted))
        vars(guarded)["needs"] = needs
        return guarded

    return guard


def _logged_in(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A guard like Django's `login_required`, but a form sent after the end of the session leads
    back to the page of the form: the form's own address may answer no GET, and the form is never
    sent twice.
    """
    of_pages = login_required(view)

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated or request.method in ("GET", "HEAD"):
            return of_pages(request, *args, **kwargs)
        messages.warning(request, SESSION_ENDED, fail_silently=True)
        return redirect_to_login(page_sent_from(request) or request.get_full_path())

    return guarded


def withhold(user: User, permissions: dict[str, str]) -> None:
    """Withhold these permissions for as long as this object stands for the user."""
    setattr(user, WITHHELD, withheld(user) | permissions)  # setattr also works on a lazy object


def withheld(user: User | AnonymousUser) -> dict[str, str]:
    """The withheld permissions, each with a sentence that says who has it."""
    found: dict[str, str] = getattr(user, WITHHELD, {})
    return found


def require(user: User, permission: str) -> None:
    """Check a permission that depends on the request; "" requires none. Raises PermissionDenied,
    whose message says who has the permission if it is withheld from the user's role.
    """
    if permission and not user.has_perm(permission):
        raise PermissionDenied(withheld(user).get(permission, ""))


def needs(permission: str) -> Callable[[V], V]:
    """Guard an endpoint, or a part of a page: 403 without the permission.

    Log-in and method are checked before: by the API, or by the page. The attribute `needs` states
    the permission.
    """

    def guard(view: V) -> V:
        guarded = cast("V", _guard_view(cast("Callable[..., object]", view), permission))
        vars(guarded)["needs"] = permission
        return guarded

    return guard


def _guard_view(view: Callable[..., R], permission: str) -> Callable[..., R]:
    @wraps(view)
    def guarded(request: AuthenticatedRequest, /, *args: object, **kwargs: object) -> R:
        require(request.user, permission)
        return view(request, *args, **kwargs)

    return guarded
