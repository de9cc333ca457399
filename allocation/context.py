"""What every page is told of the bank."""

from __future__ import annotations

from django.http import HttpRequest

from allocation import alarms


def alarm(request: HttpRequest) -> dict[str, object]:
    """`alarms`: the pools that are flagged, for those who may see them.

    Read only by pages that show it, not by their refreshes.
    """
    user = getattr(request, "user", None)
    return {
        "alarms": lambda: (
            alarms.alarms() if user is not None and user.has_perm("allocation.view_pool") else []
        )
    }
