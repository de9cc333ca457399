"""Changes of passwords by users themselves. A password that an administrator or a command has given
must be changed before anything else, since another person knows it. Tokens are no passwords, so
programs with tokens continue to work.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import authenticate, update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from crawling.base.audit import record_action
from crawlsite.models import GivenPassword
from crawlsite.tokens import token_in_request
from serving.access import AuthenticatedRequest, authenticated

GIVEN = "Your password was given to you. Choose one of your own first"
#: the addresses that stay open in a session with a given password: ways to log out, public pages,
#: and pages with a log-in of their own
OPEN = ("/login/", "/logout/", "/healthz", "/readyz", "/metrics", "/shared/", "/watches/")
API = "/api/"


def give_password(user: User) -> str:
    """A random password, which its user has to change. Sessions with the old one end."""
    password = secrets.token_urlsafe(15)
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        mark_password_as_given(user)
    return password


def mark_password_as_given(user: User) -> None:
    """Mark the password of the user as set by another person."""
    GivenPassword.objects.get_or_create(user=user)


def is_given_password(user: User) -> bool:
    """Whether the user's password was set by another person. Makes no query for a user whom
    `AccountBackend` has read.
    """
    return hasattr(user, "given_password")


class GivenPasswordMiddleware:
    """Middleware: in a session with a password that another person set, no page works except the
    one that changes it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        page = reverse("password")
        if request.path.startswith((page, *OPEN)) or not _has_given_password(request):
            return self.get_response(request)
        if request.path.startswith(API):
            return JsonResponse({"detail": f"{GIVEN}, at {page}."}, status=403)
        asked = request.get_full_path() if request.method in ("GET", "HEAD") else ""
        return redirect(f"{page}?{urlencode({'next': asked})}" if asked else page)


def _has_given_password(request: HttpRequest) -> bool:
    if request.path.startswith(API) and token_in_request(request) is not None:
        return False  # a wrong token never works, even with a session
    try:
        return request.user.is_authenticated and is_given_password(request.user)
    except DatabaseError:  # the page itself reports an unreachable database
        return False


class OwnPasswordForm(PasswordChangeForm):
    """Django's form. Wrong passwords count like wrong passwords at log-in."""

    def __init__(self, request: AuthenticatedRequest) -> None:
        self._request = request
        super().__init__(request.user, request.POST or None)

    def clean_old_password(self) -> str:
        given = self.cleaned_data["old_password"]
        if authenticate(self._request, username=self.user.get_username(), password=given) is None:
            raise ValidationError(self.error_messages["password_incorrect"], "password_incorrect")
        return str(given)

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or self.cleaned_data
        if found.get("new_password1") and found["new_password1"] == found.get("old_password"):
            self.add_error("new_password1", "This is your present password; choose another one.")
        return found


@sensitive_post_parameters()
@authenticated(needs="", methods=("GET", "HEAD", "POST"))
@never_cache
def change_own_password(request: AuthenticatedRequest) -> HttpResponse:
    """Let users change their own password. All other sessions of the user end."""
    form = OwnPasswordForm(request)
    following = request.GET.get("next", request.POST.get("next", ""))
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            form.save()
            GivenPassword.objects.filter(user=request.user).delete()
            record_action(request.user, request.user, "password changed")
        update_session_auth_hash(request, request.user)
        messages.success(request, "Your password is changed. All your other sessions have ended.")
        is_ours = url_has_allowed_host_and_scheme(following, {request.get_host()})
        return redirect(following if is_ours else "home")
    facts = {"form": form, "is_given": is_given_password(request.user), "next": following}
    return render(
        request, "account/password.html", facts, status=422 if request.method == "POST" else 200
    )
