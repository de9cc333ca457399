"""Wrong passwords: their counting by address and name, and the answer after too many. django-axes
stores and logs them.

If only addresses were counted, guesses at one name from many addresses would never be slowed. If
only names were counted, a stranger could lock a user out. So names are counted, too, except in a
browser in which the right password was given before, as a signed cookie shows (OWASP's device
cookie), and on the machine itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.signals import user_logged_in
from django.db import connection
from django.db.models import Model, Sum
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from crawling.installation.permissions import withheld_permissions
from crawlsite.middleware.plain_loopback import OF_PROXIES
from serving.access import withheld, withhold
from serving.requests import asked_text
from serving.visitors import parsed_address

#: the number of wrong passwords for a name, as a multiple of that for an address
TIMES = 10
LONGEST_NAME = 150
#: the attribute of a user in which Django stores the permissions for one request
KEPT = "_perm_cache"
#: treated like a permission of all users while all operators may act on all crawls
RULE_IS_LIFTED = "teams.rule_is_lifted"
#: The user's own permissions, those of the user's groups, and whether the rule of teams is lifted.
#: Each page asks, and building the same statement from querysets took most of the time
GRANTED = """
SELECT app.app_label || '.' || p.codename
FROM auth_permission p JOIN django_content_type app ON app.id = p.content_type_id
WHERE p.id IN (
    SELECT permission_id FROM auth_user_user_permissions WHERE user_id = %(user)s
    UNION ALL
    SELECT of_group.permission_id
    FROM auth_user_groups member
    JOIN auth_group_permissions of_group ON of_group.group_id = member.group_id
    WHERE member.user_id = %(user)s
)
UNION ALL
SELECT 'teams.rule_is_lifted' FROM crawling_teamrule WHERE NOT own_crawls_only
"""
COOKIE = "known_browser"
COOKIE_SECONDS = int(timedelta(days=180).total_seconds())


def locked_out_page(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, object] | None
) -> HttpResponse:
    facts = {
        "most": settings.AXES_FAILURE_LIMIT,
        "minutes": settings.AXES_COOLOFF_TIME.seconds // 60,
    }
    answer = render(request, "registration/locked_out.html", facts, status=429)
    answer["Retry-After"] = str(settings.AXES_COOLOFF_TIME.seconds)
    return answer


class AccountBackend(ModelBackend):
    """Django's backend with fewer queries, since every page needs them. One query reads a user with
    the user's preferences. Another reads the permissions of the user and of the user's groups, and
    whether the rule of teams (`TeamRule`) is lifted. Withheld permissions are left out: those of an
    operator for all crawls, and those on the crawl of a request
    (`crawlsite.middleware.crawl_permissions`).
    """

    def get_user(self, user_id: int) -> User | None:
        user = (
            User.objects.select_related("preference", "given_password").filter(pk=user_id).first()
        )
        return user if user and self.user_can_authenticate(user) else None

    def get_all_permissions(
        self, user_obj: User | AnonymousUser, obj: Model | None = None
    ) -> set[str]:
        if not isinstance(user_obj, User) or user_obj.is_superuser or obj is not None:
            return super().get_all_permissions(user_obj, obj)
        if not user_obj.is_active:
            return set()
        if (kept := vars(user_obj).get(KEPT)) is None:
            with connection.cursor() as cursor:
                cursor.execute(GRANTED, {"user": user_obj.pk})
                granted = {name for (name,) in cursor}
            vars(user_obj)[KEPT] = kept = granted - {RULE_IS_LIFTED}
            rule_is_lifted = RULE_IS_LIFTED in granted
            withhold(user_obj, withheld_permissions(kept, rule_is_lifted=rule_is_lifted))
        return kept - withheld(user_obj).keys()


class LoginAttemptHandler(AxesDatabaseHandler):  # type: ignore[misc]  # django-axes has no types
    """The counts of django-axes. Names are counted more leniently than addresses."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        wrong = [
            attempts.aggregate(failures=Sum("failures_since_start"))["failures"] or 0
            for attempts in self.get_user_attempts(request, credentials)
        ]
        return max(count // (TIMES if is_of_name else 1) for is_of_name, count in enumerate(wrong))


def attempted_name(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """The name in a form that fits into the table of django-axes. No user's name is longer."""
    given = asked_text(credentials or {}, "username", most=LONGEST_NAME)
    return given or asked_text(request.POST, "username", most=LONGEST_NAME)


def attempt_keys(request: HttpRequest, credentials: dict[str, Any] | None = None) -> list[str]:
    """The keys by which an attempt is counted: the address, and the name unless the browser is
    known for the name.
    """
    name = attempted_name(request, credentials)
    is_trusted = _is_known_browser(request) or (name and name == _known_browser_name(request))
    return ["ip_address"] if is_trusted else ["ip_address", "username"]


class KnownBrowserMiddleware:
    """Middleware: after a log-in a browser counts as known for that user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if name := getattr(request, "logged_in_as", ""):
            response.set_signed_cookie(
                COOKIE,
                name,
                salt=COOKIE,
                max_age=COOKIE_SECONDS,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


@receiver(user_logged_in)
def _note_user(request: HttpRequest, user: AbstractBaseUser, **_: object) -> None:
    request.logged_in_as = user.get_username()  # type: ignore[attr-defined]


def _known_browser_name(request: HttpRequest) -> str:
    found = request.get_signed_cookie(COOKIE, "", salt=COOKIE, max_age=COOKIE_SECONDS)
    return str(found)


def _is_known_browser(request: HttpRequest) -> bool:
    """Whether the request was sent on this machine, and not by a proxy, which passes on the
    requests of others.
    """
    address = parsed_address(str(request.META.get("REMOTE_ADDR", "")))
    is_loopback = address is not None and address.is_loopback
    return is_loopback and OF_PROXIES.isdisjoint(request.META)
