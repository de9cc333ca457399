"""Flushes: orders to all processes to forget answers."""

from __future__ import annotations

from dnscache.answer_cache import AnswerCache
from dnscache.models import DnsFlush

#: how soon every process that resolves names notices a flush
HEED_EVERY_SECONDS = 1.0
#: a flush may become visible so long after the time that it bears
LATE_SECONDS = 60


class FlushWatch:
    """Drops from a process's memory what was flushed anywhere.

    By polling: a notification can be missed, a row can't.
    """

    def __init__(self, memory: AnswerCache) -> None:
        self._memory = memory
        self._heeded_at: float | None = None
        self._seen: set[int] = set()

    def heed(self, now: float) -> None:
        """Look for flushes if it is time to.

        At the first call there is nothing in memory to flush.
        """
        if self._heeded_at is None:
            self._heeded_at = now
        if now - self._heeded_at < HEED_EVERY_SECONDS:
            return
        flushes = DnsFlush.objects.since(seconds=now - self._heeded_at + LATE_SECONDS)
        self._heeded_at = now
        for flush in flushes:
            if flush.pk not in self._seen:
                apply(flush, self._memory)
        self._seen = {flush.pk for flush in flushes}


def apply(flush: DnsFlush, memory: AnswerCache) -> None:
    """Drop what the flush means from a process's memory. `store.py` says the same in SQL."""
    match flush.scope:
        case DnsFlush.Scope.NAME:
            memory.forget([flush.value])
        case DnsFlush.Scope.DOMAIN:
            memory.forget_domain(flush.value)
        case DnsFlush.Scope.REVERSE:
            memory.forget_reverse_region()
        case _:
            memory.forget()
