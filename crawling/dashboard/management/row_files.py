"""Files that commands write."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from django.core.management.base import CommandError


def write_rows(place: Path, pieces: Iterable[bytes | str]) -> str:
    """Write what `--export` asks for and return what to print. Raises CommandError."""
    try:
        write_whole(place, (one.encode() if isinstance(one, str) else one for one in pieces))
    except OSError as error:
        raise CommandError(f"--export: {error.strerror}: {place}") from error
    return f"{place}: {place.stat().st_size:,} bytes"


def write_whole(place: Path, pieces: Iterable[bytes]) -> None:
    """Write a file, which appears as a whole or not at all. Raises OSError."""
    unfinished = place.with_name(place.name + ".unfinished")
    try:
        with unfinished.open("wb") as file:
            file.writelines(pieces)
            os.fsync(file.fileno())
        unfinished.rename(place)
    finally:
        unfinished.unlink(missing_ok=True)
