"""Block a host for all crawls, and let it go again."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from crawling.audit import note
from crawling.errors import CrawlError
from crawling.models import BlockedHost, Host

LONGEST_REASON = 300


class BadReason(CrawlError):
    """Say why, in one to 300 characters: whoever wonders later will read it."""


@transaction.atomic
def block_host(host: Host, reason: str, *, by: User | None = None) -> BlockedHost:
    """From now on no crawl fetches from the host; shifts at work obey within a second. Raises BadReason."""
    reason = " ".join(reason.replace("\0", "").split())
    if not 1 <= len(reason) <= LONGEST_REASON:
        raise BadReason
    block, is_new = BlockedHost.objects.get_or_create(name=host.name, defaults={"reason": reason, "blocked_by": by})
    if is_new:
        note(by, host, "blocked", {"blocked": (False, True), "reason": (None, reason)})
    return block


@transaction.atomic
def unblock_host(host: Host, *, by: User | None = None) -> None:
    """Let crawls fetch from the host again. What was excluded meanwhile stays so in its run."""
    if BlockedHost.objects.filter(name=host.name).delete()[0]:
        note(by, host, "unblocked", {"blocked": (True, False)})
