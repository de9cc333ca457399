"""Wrong passwords: where they come from, and what is answered once there were too many. django-axes
counts and logs them.
"""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

#: so many wrong passwords from one address, and nobody logs in from there for so long
WRONG_PASSWORDS = 10
PAUSE = timedelta(minutes=5)


def visitor_address(request: HttpRequest) -> str:
    """The address of whoever asks.

    Behind a proxy it is the last that X-Forwarded-For names: those before it anybody can make up.
    """
    told = (
        request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        if settings.BEHIND_HTTPS
        else ""
    )
    return told or str(request.META.get("REMOTE_ADDR", ""))


def locked_out(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, object] | None
) -> HttpResponse:
    """The page for whoever may not try another password now."""
    facts = {"most": WRONG_PASSWORDS, "minutes": PAUSE.seconds // 60}
    answer = render(request, "registration/locked_out.html", facts, status=429)
    answer["Retry-After"] = str(PAUSE.seconds)
    return answer
