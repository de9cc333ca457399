"""Tokens by which programs log in. A token is shown once, when it is made, and stored as a digest.
Also the page on which users make and revoke their tokens. No token can make a token, whatever its
user may do: otherwise a thief could keep access after the token's end. A token that expires cannot
make accounts or passwords either.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from allocation.wording import whole_number
from crawling.base.audit import record_action
from crawlsite.models import ApiToken
from serving.access import AuthenticatedRequest, authenticated

#: a prefix by which people and scanners of repositories recognise a token in a wrong place
PREFIX = "crawlsite_"
#: the shortest time between two writes of the time of use, so that a busy program does not cause a
#: write for every request
USED_EVERY = timedelta(minutes=1)
LONGEST_NAME = 100
MOST_DAYS = 3650


#: the attribute of a request that holds its token
ASKED_BY = "api_token"
OF_SESSIONS = (
    "A token makes no tokens. Log in and make it on the page Tokens (/account/tokens/), or run "
    "`manage.py api_token` on the machine."
)


class BadToken(Exception):
    """The token cannot be made as requested; `errors` has a sentence for each field."""

    def __init__(self, errors: dict[str, str]) -> None:
        self.errors = errors
        super().__init__("; ".join(errors.values()))


def make_token(user: User, name: str, *, days: int | None = None, reads_only: bool = False) -> str:
    """Make a token and return it. The token cannot be read again.

    Raises IntegrityError if the user has a token of that name.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    expires_at = None if days is None else timezone.now() + timedelta(days=days)
    ApiToken.objects.create(
        user=user,
        name=name,
        digest=_digest(token),
        expires_at=expires_at,
        reads_only=reads_only,
    )
    return token


def issue_token(user: User, name: str, days: str, *, reads_only: bool = False) -> str:
    """Make a token that a user asks for on a page, and log it.

    `days` is empty for a token that lasts until it is revoked. Raises BadToken.
    """
    name, errors = name.strip(), {}
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        errors["name"] = f"Give it a name of one line, at most {LONGEST_NAME} characters."
    lasts = whole_number(days, most_digits=4)
    if days and not (lasts and lasts <= MOST_DAYS):
        errors["days"] = (
            f"Days are a whole number from 1 to {MOST_DAYS:,}; leave it empty for a token that "
            "stays until it is revoked."
        )
    if errors:
        raise BadToken(errors)
    try:
        with transaction.atomic():
            token = make_token(user, name, days=lasts, reads_only=reads_only)
            record_action(
                user,
                user,
                "created a token",
                {
                    "token": (None, name),
                    "days": (None, days or "no end"),
                    "reads only": (None, reads_only),
                },
            )
    except IntegrityError as error:
        raise BadToken(
            {
                "name": "You have a token of this name already; choose another name, or revoke "
                "that one first."
            }
        ) from error
    return token


@transaction.atomic
def revoke_token(token: ApiToken, *, by: User) -> None:
    record_action(by, token.user, "revoked a token", {"token": (token.name, None)})
    token.delete()


def revocable_tokens(user: User) -> QuerySet[ApiToken]:
    """The tokens that a user may revoke: the user's own, and for administrators those of others.

    Only superusers may revoke tokens of superusers.
    """
    tokens = ApiToken.objects.select_related("user")
    if user.is_superuser:
        return tokens
    if user.has_perm("auth.change_user"):
        return tokens.filter(Q(user=user) | Q(user__is_superuser=False))
    return tokens.filter(user=user)


def sorted_by_last_use(tokens: QuerySet[ApiToken]) -> QuerySet[ApiToken]:
    """The tokens, the last used first, never used ones at the end."""
    return tokens.order_by(F("last_used_at").desc(nulls_last=True), "user__username", "name")


def refuse_tokens(request: HttpRequest) -> None:
    """Refuse to make tokens for a request that a token sent. Raises PermissionDenied."""
    if getattr(request, ASKED_BY, None):
        raise PermissionDenied(OF_SESSIONS)


def refuse_ending_tokens(request: HttpRequest) -> None:
    """Refuse to make accounts, roles and passwords for a request whose token expires earlier than
    they would. Raises PermissionDenied.
    """
    token: ApiToken | None = getattr(request, ASKED_BY, None)
    if token and token.expires_at:
        raise PermissionDenied(
            f"This token ends on {token.expires_at:%d %B %Y}, and accounts, roles and passwords do "
            "not. Log in for this, or ask by a token without an end."
        )


def token_in_request(request: HttpRequest) -> str | None:
    """The token of a request, as `api.auth.Token` reads it. None if `Authorization` has no token;
    then the session of the request counts.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else None


def find_token(token: str) -> ApiToken | None:
    """The token with its user. None if it is unknown or expired, or if its user may not log in."""
    now = timezone.now()
    alive = Q(expires_at=None) | Q(expires_at__gt=now)
    found = (
        ApiToken.objects.select_related("user")
        .filter(alive, digest=_digest(token), user__is_active=True)
        .first()
    )
    if found is None:
        return None
    ApiToken.objects.filter(
        Q(last_used_at=None) | Q(last_used_at__lt=now - USED_EVERY), pk=found.pk
    ).update(last_used_at=now)
    return found


def _digest(token: str) -> str:
    return sha256(token.encode(errors="replace")).hexdigest()


@authenticated(needs="", methods=("GET", "HEAD", "POST"))
@never_cache
@sensitive_variables("made")
def own_tokens_page(request: AuthenticatedRequest) -> HttpResponse:
    """List the user's own tokens. A POST makes a token; only its answer shows the token."""
    made, errors = "", {}
    if request.method == "POST":
        try:
            made = issue_token(
                request.user,
                request.POST.get("name", ""),
                request.POST.get("days", "").strip(),
                reads_only=request.POST.get("opens") == "reads",
            )
        except BadToken as trouble:
            errors = trouble.errors
    rows = sorted_by_last_use(ApiToken.objects.filter(user=request.user))
    typed = {} if made else request.POST
    return render(
        request,
        "account/tokens.html",
        {
            "tokens": rows,
            "made": made,
            "api": request.build_absolute_uri(reverse("api:api-root")),
            "errors": errors,
            "typed": typed,
            "now": timezone.now(),
        },
    )


@authenticated(needs="", methods=("POST",))
def revoke_posted_token(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Revoke a token. An administrator is redirected to the list of all users' tokens."""
    token = get_object_or_404(revocable_tokens(request.user), pk=pk)
    revoke_token(token, by=request.user)
    messages.success(request, f"The token {token} is revoked.")
    return redirect("administration:tokens" if "all" in request.POST else "tokens")
