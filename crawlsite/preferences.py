"""How somebody likes the pages to behave: kept on the account, so that it holds in every
browser."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from crawling.errors import BadOrder
from crawlsite.models import Preference

USUAL_SECONDS = 2
#: seconds between two refreshes of a live page, and the words for it
REFRESHES = {1: "1 s", 2: "2 s", 5: "5 s", 15: "15 s", 60: "1 min", 0: "off"}


def refresh_seconds(user: User | AnonymousUser) -> int:
    """How often live pages ask anew for somebody; 0: never."""
    kept = Preference.objects.filter(user=user.pk).values_list("refresh_seconds", flat=True).first()
    return USUAL_SECONDS if kept is None else kept


def set_refresh(user: User, seconds: str) -> int:
    """Keep it on the account. Raises BadOrder for what cannot be chosen."""
    chosen = next((one for one in REFRESHES if str(one) == seconds), None)
    if chosen is None:
        raise BadOrder(
            {"refresh_seconds": f"must be one of {', '.join(map(str, REFRESHES))}; 0 is off"}
        )
    Preference.objects.update_or_create(user=user, defaults={"refresh_seconds": chosen})
    return chosen


def refresh(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `refresh.seconds` and `refresh.choices`.

    The database is asked only by templates that show them.
    """
    return {
        "refresh": SimpleLazyObject(
            lambda: {"seconds": refresh_seconds(request.user), "choices": REFRESHES.items()}
        )
    }
