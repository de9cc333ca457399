"""A live cache that pages can read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from dnscache.answer_cache import AnswerCache
from dnscache.cache_reads import CacheReadServer, query_caches
from dnscache.resolver import Resolver


@contextmanager
def live_cache(machine: str = "crawler-1") -> Iterator[AnswerCache]:
    """The cache of a pre-resolver that has taken over all stored answers."""
    resolver = Resolver()
    resolver.load_stored_answers()
    resolver.memory.unpack(10_000, time.time())
    server = CacheReadServer(machine, resolver.memory)
    server.start()
    while machine not in [told["machine"] for told in query_caches(most=1)]:
        time.sleep(0.01)
    try:
        yield resolver.memory
    finally:
        server.close()
