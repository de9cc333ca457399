"""The pages that say why a request was refused, and how to proceed."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from serving.requests import page_sent_from

#: the group whose members can give roles
ADMINISTRATOR = "administrator"
#: the most administrators that a page names
MOST_NAMED = 3


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for a refusal (403). It names the users who may do it, if the refusal names them;
    otherwise the permission that the role lacks, or, for a user without a role, the administrators.
    """
    user = request.user
    has_role = not user.is_authenticated or user.is_superuser or user.groups.exists()
    facts = {"has_role": has_role, "administrators": administrators() if not has_role else []}
    facts["reason"] = str(exception) or getattr(request, "refused_acts", "")
    return render(request, "403.html", facts, status=403)


def administrators() -> list[str]:
    """The names of some users who can give roles, the earliest accounts first."""
    can_give = Q(is_superuser=True) | Q(groups__name=ADMINISTRATOR)
    found = User.objects.filter(can_give, is_active=True).order_by("pk").distinct()
    return list(found.values_list("username", flat=True)[:MOST_NAMED])


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form whose CSRF token is invalid (403): usually the session ended while the
    form was open.
    """
    return render(request, "403_csrf.html", {"page": page_sent_from(request)}, status=403)
