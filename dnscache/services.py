"""What operators do to the cache."""

from __future__ import annotations

from collections.abc import Collection

from dnscache import resolver
from dnscache.models import DnsEntry


def flush(names: Collection[str]) -> int:
    """Forget the names, in PostgreSQL and in this process; return how many were known.

    Other processes notice when the answers they hold in memory expire; a shift's memory ends with its job.
    """
    resolver.forget(names)
    deleted, _ = DnsEntry.objects.filter(name__in=names).delete()
    return deleted
