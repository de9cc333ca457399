"""The pages about users, their roles and their tokens."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from crawlsite.administration.accounts import (
    NO_ROLE,
    ROLES,
    BadAccount,
    SharedByUser,
    accounts,
    create_account,
    deactivate,
    delete_account,
    items_shared_by,
    reset_password,
    role_of,
    set_active,
    set_email,
    set_role,
)
from crawlsite.models import ApiToken
from crawlsite.tokens import revocable_tokens, sorted_by_last_use
from serving.access import AuthenticatedRequest, authenticated

#: the number of tokens on a page
TOKENS = 100
#: the roles, each with its rights in a line; the word before the colon is its name
ROLE_CHOICES = {
    "viewer": "Viewer: reads everything but secrets",
    "operator": "Operator: creates crawls, steers its own and its teams'",
    "administrator": "Administrator: sets limits, access and users",
    NO_ROLE: "No role: sees nothing",
}


@authenticated(needs="auth.change_user", methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("password")
def users_page(request: AuthenticatedRequest) -> HttpResponse:
    """List the users. Create a user, and show the password in this answer only."""
    if request.method != "POST":
        return _users_page(request)
    answers = {name: request.POST.get(name, "") for name in ("name", "email", "role")}
    try:
        user, password = create_account(**answers, by=request.user)
    except BadAccount as error:
        return _users_page(request, errors=error.errors, typed=answers)
    return _users_page(request, made=user, password=password)


@authenticated(needs="auth.change_user", methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("password")
def change_user(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Show an account with everything that belongs to it, or change it as the button says."""
    user = get_object_or_404(accounts(), pk=pk)
    if request.method != "POST":
        return _account_page(request, user)
    action = request.POST.get("action", "")
    try:
        if action == "password":
            password = reset_password(user, by=request.user)
            return _users_page(request, made=user, password=password)
        if (
            action == "deactivate"
            and "confirmed" not in request.POST
            and (shared := items_shared_by(user))
        ):
            return _ask_to_confirm(request, user, shared)
        _apply_action(request, user, action)
    except BadAccount as error:
        if action in ("email", "delete") and "user" not in error.errors:
            return _account_page(request, user, error.errors)
        if "hand_to" in error.errors:
            return _ask_to_confirm(request, user, items_shared_by(user), error.errors["hand_to"])
        messages.error(request, str(error))
    else:
        done = "deleted" if action == "delete" else "saved"
        messages.success(request, f"{user.get_username()} is {done}.")
    return redirect("administration:users")


def _apply_action(request: AuthenticatedRequest, user: User, action: str) -> None:
    """Apply the change of a button. Raises BadAccount or PermissionDenied."""
    hand_to = request.POST.get("hand_to", "").strip()
    if action == "deactivate":
        deactivate(user, hand_to=hand_to, by=request.user)
    elif action == "delete":
        delete_account(user, hand_to=hand_to, by=request.user)
    elif action == "activate":
        set_active(user, is_active=True, by=request.user)
    elif action == "email":
        set_email(user, request.POST.get("email", ""), by=request.user)
    else:
        set_role(user, request.POST.get("role", ""), by=request.user)


@authenticated(needs="auth.change_user")
@never_cache
def all_tokens_page(request: AuthenticatedRequest) -> HttpResponse:
    """List the tokens of all users in the order of their last use, those of `?page=`."""
    found = sorted_by_last_use(ApiToken.objects.select_related("user"))
    rows = Paginator(found, TOKENS).get_page(request.GET.get("page"))
    shown = [token.pk for token in rows]
    revocable = set(
        revocable_tokens(request.user).filter(pk__in=shown).values_list("pk", flat=True)
    )
    return render(
        request,
        "administration/tokens.html",
        {"tokens": rows, "revocable": revocable, "now": timezone.now()},
    )


def _account_page(
    request: AuthenticatedRequest, user: User, errors: dict[str, str] | None = None
) -> HttpResponse:
    """Show an account, and the things that stop or stay if it is deleted."""
    facts = {
        "row": user,
        "role_name": role_of(user).capitalize() or "None",
        "shared": items_shared_by(user),
        "may_change": _may_change(request.user, user),
        "errors": errors or {},
        "typed": request.POST,
    }
    return render(request, "administration/user.html", facts, status=422 if errors else 200)


def _may_change(by: User, user: User) -> bool:
    return user != by and (by.is_superuser or not user.is_superuser)


def _ask_to_confirm(
    request: AuthenticatedRequest, user: User, shared: SharedByUser, error: str = ""
) -> HttpResponse:
    """Show the things that stop with the account, and ask who takes them over."""
    facts = {
        "row": user,
        "shared": shared,
        "error": error,
        "typed": request.POST.get("hand_to", ""),
    }
    return render(request, "administration/lock.html", facts, status=422 if error else 200)


def _users_page(request: AuthenticatedRequest, **facts: Any) -> HttpResponse:
    rows = [
        {
            "user": user,
            "role": role_of(user),
            "role_name": role_of(user).capitalize() or "None",
            "groups": [group.name for group in user.groups.all() if group.name not in ROLES],
            "may_change": _may_change(request.user, user),
        }
        for user in accounts()
    ]
    here = {"rows": rows, "roles": ROLE_CHOICES, "typed": {"role": "operator"}, "errors": {}}
    return render(request, "administration/users.html", here | facts)
