"""What a command takes: time by the clock and of the processor, memory, and room on the disk."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil
from django.conf import settings
from django.db import connection

MIB = 2**20
LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Room:
    """Bytes on the disk: of the WARC files, of what lies beside them, of the database."""

    warc: int
    beside: int
    database: int

    def __sub__(self, other: Room) -> Room:
        return Room(
            self.warc - other.warc, self.beside - other.beside, self.database - other.database
        )


@dataclass(frozen=True)
class Taken:
    """seconds: by the clock; here: of the processor, by the command and all that it started; there:
    by PostgreSQL. most_bytes: resident, of all its processes together at one of the looks, which
    counts what they share more than once. (What the kernel says of a process that ended includes
    its parent's memory before `exec`.)
    """

    status: int
    seconds: float
    here: float
    there: float
    most_bytes: int
    room: Room


def room() -> Room:
    """Of all crawls of this installation."""
    warc = beside = 0
    for file in Path(settings.ARCHIVE_DIR).rglob("*"):
        with suppress(FileNotFoundError):  # the search index deletes files while it is merged
            if file.is_file():
                size = file.stat().st_blocks * 512
                if ".warc" in file.name:
                    warc += size
                else:
                    beside += size
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (database,) = cursor.fetchone()
    return Room(warc, beside, database)


def measured(
    command: Sequence[str], out: IO[bytes], *, env: Mapping[str, str] | None = None
) -> Taken:
    """Run it to its end; what it prints goes to a file."""
    from benchmarks.crawling.shift_costs import server_seconds

    before, server, began = room(), server_seconds(), time.monotonic()
    program = subprocess.Popen(command, stdout=out, stderr=out, env=env)  # noqa: S603  # ours
    most = 0
    while True:
        pid, status, usage = os.wait4(program.pid, os.WNOHANG)
        if pid:
            break
        most = max(most, _resident(program.pid))
        # the memory of all its processes together is known at looks only: the kernel keeps the most
        # of each one, and no event tells of their sum
        time.sleep(LOOK_SECONDS)
    program.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    return Taken(
        program.returncode,
        seconds,
        usage.ru_utime + usage.ru_stime,
        server_seconds() - server,
        most,
        room() - before,
    )


def _resident(pid: int) -> int:
    total = 0
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        for one in (first, *first.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                total += one.memory_info().rss
    return total


HEAD = (
    f"{'':36}{'clock s':>9}{'CPU s':>8}{'+ PG s':>8}{'MiB':>7}{'beside MB':>11}{'database MB':>13}"
)


def line(name: str, taken: Taken) -> str:
    return (
        f"{name:36}{taken.seconds:9.1f}{taken.here:8.1f}{taken.there:8.1f}"
        f"{taken.most_bytes / MIB:7.0f}{taken.room.beside / 1e6:11.1f}"
        f"{taken.room.database / 1e6:13.1f}"
    )
