"""Block a host for all crawls, and let it go again: an entry of the black list."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from crawling.crawls.blacklist import add_entry, remove_entry
from crawling.models import BlackListEntry, Host
from crawling.scope.blacklist import BlacklistKind


def block_host(host: Host, reason: str, *, by: User | None = None) -> BlackListEntry:
    """From now on no crawl fetches from the host; shifts at work obey within a second.

    Raises BadOrder for a reason that is none.
    """
    return _entries(host).first() or add_entry(BlacklistKind.HOST, host.name, reason, by=by)


def unblock_host(host: Host, *, by: User | None = None) -> None:
    """Let crawls fetch from the host again, as far as no other entry of the black list covers
    it."""
    for entry in _entries(host):
        remove_entry(entry.pk, by=by)


def _entries(host: Host) -> QuerySet[BlackListEntry]:
    return BlackListEntry.objects.filter(kind=BlacklistKind.HOST, text=host.name, removed_at=None)
