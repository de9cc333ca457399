"""Whether each part of the product answers, in a word or a sentence."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import django_rq
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.template.defaultfilters import filesizeformat
from redis.exceptions import RedisError

from allocation.checks import missing_units
from crawling.keeper.leader import is_somebody_leading
from crawling.keeper.messages import QUEUE, live_workers

OK = "ok"
#: the disk counts as nearly full below this share of it
LITTLE_SPACE = 0.05


@dataclass(frozen=True)
class Part:
    """A part of the product as the overview shows it."""

    name: str
    is_fine: bool
    sentence: str


def parts() -> list[Part]:
    """Every part that a page can tell of; the page itself shows that PostgreSQL answers."""
    return list(_parts())


def _parts() -> Iterator[Part]:
    answer = redis()
    count = live_workers() if answer == OK else None
    yield Part(
        "Workers", bool(count), "Redis does not tell" if count is None else f"{count} for crawls" if count else "none: no crawl goes on"
    )
    leading = keeper()
    yield Part("Keeper", leading == OK, "at work" if leading == OK else leading)
    yield Part("Redis", answer == OK, "answers" if answer == OK else answer)
    yield Part("PostgreSQL", True, "answers")
    yield disk()


def disk() -> Part:
    """The disk of the archive on this machine."""
    place = next(path for path in (Path(settings.ARCHIVE_DIR), *Path(settings.ARCHIVE_DIR).parents) if path.exists())
    usage = shutil.disk_usage(place)
    free = usage.free / usage.total
    return Part("Disk", free > LITTLE_SPACE, f"{filesizeformat(usage.free)} free of {filesizeformat(usage.total)}")


def postgresql() -> str:
    try:
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return f"no answer: {type(error).__name__}"
    return f"{len(pending)} migrations are to be run" if pending else OK


def bank() -> str:
    return " ".join(missing_units()) or OK


def redis() -> str:
    try:
        django_rq.get_connection(QUEUE).ping()
    except RedisError as error:
        return f"no answer: {type(error).__name__}"
    return OK


def workers() -> str:
    count = live_workers()
    return f"{count} for crawls" if count else "none: no crawl goes on"


def keeper() -> str:
    return OK if is_somebody_leading() else "none: no crawl starts"
