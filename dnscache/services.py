"""The actions of operators on the cache, and the log in which administrators see who did what."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from dnscache import resolver
from dnscache.lookup import configured_servers, server_text
from dnscache.models import DnsEntry, DnsFlush, DnsPin, DnsServer, DnsServerMinute
from dnscache.protocol.names import BadName, DnsCacheError, levels_of, read_host
from dnscache.records import MOST_PER_SECOND
from dnscache.regions.entry import Region

#: the time for which a flush is kept; every process looks for flushes more often
FLUSHES_KEPT = timedelta(days=2)
FORGETS = {"retry", "flush"}


class BadLimit(DnsCacheError):
    """Not the limit of a name server."""


class UnknownServer(DnsCacheError):
    """No name server of this installation."""


def flush_names(names: Collection[str]) -> int:
    """Forget these names: at once in PostgreSQL and in this process, in other processes within a
    second of their next use of the cache.

    Return the number of names that were known.
    """
    deleted = _order_flush(
        [DnsFlush(scope=DnsFlush.Scope.NAME, value=name) for name in names],
        DnsEntry.objects.filter(name__in=names),
    )
    resolver.forget(names)
    return deleted


def apply_action(text: str, verb: str) -> str:
    """Retry, pin or unpin a name for an operator; return the name.

    Raises DnsCacheError for an invalid name.
    """
    host = read_host(text)
    if host.is_literal:
        raise BadName(f"{host.text} is an address: no look-up is needed")
    if verb == "retry":
        flush_names([host.text])
    elif verb == "pin":
        DnsPin.objects.get_or_create(name=host.text)
    else:
        DnsPin.objects.filter(name=host.text).delete()
    return host.text


def set_limit(server: str, per_second: int) -> None:
    """Limit the look-ups a second that all processes together make at a name server.

    Raises UnknownServer for a server that is not used here, BadLimit for an invalid limit.
    """
    configured = {server_text(one) for one in configured_servers()}
    if server not in configured and not DnsServerMinute.objects.filter(server=server).exists():
        raise UnknownServer(f"{server[:80]!r} is no name server of this installation")
    if not 1 <= per_second <= MOST_PER_SECOND:
        raise BadLimit(f"the limit must be from 1 to {MOST_PER_SECOND:,} look-ups a second")
    DnsServer.objects.update_or_create(server=server, defaults={"per_second": per_second})


def flush_domain(registrable: str) -> int:
    """Forget a registered name with all names below it."""
    order = DnsFlush(scope=DnsFlush.Scope.DOMAIN, value=registrable)
    return _order_and_apply_flush(order, DnsEntry.objects.filter(registrable=registrable))


def flush_reverse_region() -> int:
    """Forget every name that failed or was slow, so that all of them are looked up again."""
    return _order_and_apply_flush(
        DnsFlush(scope=DnsFlush.Scope.REVERSE), DnsEntry.objects.filter(region=Region.REVERSE)
    )


def flush_all() -> int:
    return _order_and_apply_flush(DnsFlush(scope=DnsFlush.Scope.ALL), DnsEntry.objects.all())


def flush_scope(scope: str, value: str = "") -> int:
    """Forget a `domain` with all names below it, the whole `reverse` region, or `all`.

    Raises BadName for any other scope, and for an invalid domain BadName or RefusedName.
    """
    if scope == DnsFlush.Scope.ALL:
        return flush_all()
    if scope == DnsFlush.Scope.REVERSE:
        return flush_reverse_region()
    if scope == DnsFlush.Scope.DOMAIN:
        return flush_domain(levels_of(read_host(value).text).first)
    raise BadName(f"{scope[:20]!r} is none of all, reverse and domain")


def _order_and_apply_flush(order: DnsFlush, entries: QuerySet[DnsEntry]) -> int:
    deleted = _order_flush([order], entries)
    resolver.apply_flush(order)
    return deleted


def _order_flush(orders: list[DnsFlush], entries: QuerySet[DnsEntry]) -> int:
    with transaction.atomic():
        DnsFlush.objects.filter(at__lt=Now() - FLUSHES_KEPT).delete()
        DnsFlush.objects.bulk_create(orders)
        deleted, _ = entries.delete()
    return deleted


def log_action(user: User, names: Collection[str], verb: str) -> None:
    """Log that the user did this to the names."""
    kind = ContentType.objects.get_for_model(DnsEntry)
    flag = DELETION if verb in FORGETS else CHANGE
    told = {"user": user, "content_type": kind, "action_flag": flag, "change_message": verb}
    LogEntry.objects.bulk_create(
        LogEntry(object_id=name, object_repr=name[:200], **told) for name in names
    )
