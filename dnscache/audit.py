"""Who did what to the cache, in the log that administrators read."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType

from dnscache.models import DnsEntry

FORGETS = {"retry", "flush"}


def log(user: User, names: Collection[str], verb: str) -> None:
    """Write down that the user did this to the names."""
    kind = ContentType.objects.get_for_model(DnsEntry)
    flag = DELETION if verb in FORGETS else CHANGE
    told = {"user": user, "content_type": kind, "action_flag": flag, "change_message": verb}
    LogEntry.objects.bulk_create(
        LogEntry(object_id=name, object_repr=name[:200], **told) for name in names
    )
