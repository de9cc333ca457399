"""A row of the store as one text: a process that starts takes over a million of them, and unpacks
those that are accessed.
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


def first_of(packed: str) -> str:
    """Return the registered name of a row."""
    return packed.partition(SEPARATOR)[0]


def region_of(packed: str) -> Region:
    """Return the region of a row."""
    return _REGIONS[packed.split(SEPARATOR, 13)[12]]


def unpack(name: str, packed: str) -> tuple[str, CachedAnswer]:
    """Return the registered name and the entry.

    The fields are in the order in which `store.load` selects them.
    """
    first, *reply, resolved, expires, retry, used, fails, region, cost, hits, upstream, error = (
        packed.split(SEPARATOR, 16)
    )
    entry = CachedAnswer.__new__(CachedAnswer)  # its constructor makes entries of answers
    entry.name, entry.left, entry.right, entry.before = name, None, None, None
    _unpack_reply(entry, *reply)
    entry.upstream, entry.error = intern(upstream), error
    entry.resolved_at, entry.retry_at = _seconds(resolved), _seconds(retry) if retry else None
    entry.fresh_until = (
        entry.retry_at
        if entry.retry_at is not None and entry.status.is_failure
        else _seconds(expires)
    )
    entry.fails, entry.region = int(fails), _REGIONS[region]
    entry.cost_ms, entry.hits = round(1000 * float(cost)), float(hits)
    entry.last_access = _seconds(used)
    return first, entry


def _unpack_reply(
    entry: CachedAnswer,
    status: str,
    addresses: str,
    canonical: str,
    rcode: str,
    ttl: str,
    resolve_ms: str,
) -> None:
    entry.status = _STATUSES[status]
    entry.packed = addresses[1:-1].replace(",", " ")  # {192.0.2.1,2001:db8::1}
    entry.canonical = entry.name if canonical == entry.name else canonical
    entry.rcode = int(rcode) if rcode else None
    entry.ttl, entry.resolve_ms = int(ttl), int(resolve_ms)


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
