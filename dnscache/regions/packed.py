"""A row of the store as one text: a process that starts takes over a million of them, and unpacks
those that somebody asks for.
"""

from __future__ import annotations

from datetime import datetime
from sys import intern

from dnscache.protocol.answers import DnsStatus
from dnscache.regions.entry import CachedAnswer, Region

#: in no field but, perhaps, the last one
SEPARATOR = "\x1f"

_STATUSES = {status.value: status for status in DnsStatus}
_REGIONS = {str(region.value): region for region in Region}


def unpack(name: str, packed: str) -> tuple[str, CachedAnswer]:
    """Return the registered name and the entry.

    The fields are in the order in which `store.load` selects them.
    """
    entry = CachedAnswer.__new__(CachedAnswer)  # its constructor makes entries of answers
    (
        first,
        status,
        addresses,
        canonical,
        rcode,
        ttl,
        resolve_ms,
        *times,
        fails,
        region,
        cost,
        hits,
        upstream,
        error,
    ) = packed.split(SEPARATOR, 16)
    resolved, expires, retry, used = times
    entry.name, entry.left, entry.right, entry.before = name, None, None, None
    # {192.0.2.1,2001:db8::1}
    entry.status, entry.packed = _STATUSES[status], addresses[1:-1].replace(",", " ")
    entry.canonical = name if canonical == name else canonical
    entry.rcode, entry.ttl, entry.resolve_ms = (
        int(rcode) if rcode else None,
        int(ttl),
        int(resolve_ms),
    )
    entry.resolved_at, entry.retry_at = _seconds(resolved), _seconds(retry) if retry else None
    entry.fails, entry.region = int(fails), _REGIONS[region]
    entry.cost_ms, entry.hits, entry.last_access = (
        round(1000 * float(cost)),
        float(hits),
        _seconds(used),
    )
    entry.upstream, entry.error = intern(upstream), error
    entry.fresh_until = (
        entry.retry_at
        if entry.retry_at is not None and entry.status.is_failure
        else _seconds(expires)
    )
    return first, entry


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
