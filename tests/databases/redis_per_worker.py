"""Gives each xdist worker a Redis database of its own.

Loaded by `-p` in pyproject.toml: before Django reads its settings.
"""

import os
import re

from crawlsite import env


def database_of(worker: str, redis_url: str) -> str:
    """The address with the worker's database number after those that the address names itself: gw0
    gets the next one.
    """
    base, number = re.fullmatch(r"(.*?)(?:\?db=(\d+))?", redis_url).groups()
    return f"{base}?db={int(number or 0) + 1 + int(worker.removeprefix('gw'))}"


if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ["REDIS_URL"] = database_of(worker, env.read().redis_url)
