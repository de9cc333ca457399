"""Write a run's log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crawling.models import Level, LogLine

LONGEST = 2000


class NewLogLine(NamedTuple):
    message: str
    level: Level = Level.INFO
    url: str = ""


def write(run_id: int, message: str, *, level: Level = Level.INFO, url: str = "") -> None:
    write_all(run_id, [NewLogLine(message, level, url)])


def write_all(run_id: int, lines: Sequence[NewLogLine]) -> None:
    """Add lines in one statement. Without lines there is no query."""
    if lines:
        LogLine.objects.bulk_create(
            LogLine(
                run_id=run_id,
                level=line.level,
                message=_text(line.message)[:LONGEST],
                url=line.url[:LONGEST],
            )
            for line in lines
        )


def _text(value: str) -> str:
    """A server's text as PostgreSQL can store it: without NUL and without lone surrogates."""
    return value.replace("\0", "").encode(errors="replace").decode()
