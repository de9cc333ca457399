"""A Redis database for each process of the suite."""

import os
import re
from contextlib import suppress

from django.conf import settings
from django.core.cache import caches

from crawlsite import env


def take_database(number: int) -> None:
    """Give this process, and the processes that it starts, the database of worker `number`."""
    shared = env.read().redis_url
    os.environ["REDIS_URL"] = own = database_of(number, shared)
    for named in (*settings.RQ_QUEUES.values(), *settings.CACHES.values()):
        named.update({key: own for key, value in named.items() if value == shared})
    for alias in settings.CACHES:
        with suppress(AttributeError):  # the value was never read
            del caches[alias]


def database_of(number: int, redis_url: str) -> str:
    """The address with a database number after the one that the address itself has: worker 0 gets
    the next one.
    """
    base, named = re.fullmatch(r"(.*?)(?:\?db=(\d+))?", redis_url).groups()
    return f"{base}?db={int(named or 0) + 1 + number}"
