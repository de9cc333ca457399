"""A database that is filled once and measured often: it stays, and each measurement gets a copy,
which it may change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection

from allocation.services import keep_wait_counts
from benchmarks.scene.database import serve_pages, tell
from benchmarks.scene.installation import Filled, Size, fill

SNAPSHOT, COPY = "bench_scene", "bench_scene_copy"


@contextmanager
def copy_of_snapshot(size: Size) -> Iterator[Filled]:
    """It is filled first if there is none, and migrated if it is an old one."""
    serve_pages()
    own = connection.settings_dict["NAME"]
    try:
        filled = _snapshot(size)
        _use(own)
        tell(f"DROP DATABASE IF EXISTS {COPY} WITH (FORCE)")
        tell(f"CREATE DATABASE {COPY} TEMPLATE {SNAPSHOT} STRATEGY FILE_COPY")
        _use(COPY)
        yield filled
    finally:
        _use(own)
        tell(f"DROP DATABASE IF EXISTS {COPY} WITH (FORCE)")


def _snapshot(size: Size) -> Filled:
    """What is written down last is whole. An old one lacks counts that schedulers keep by now."""
    note = Path(settings.STATE_DIR, f"{SNAPSHOT}.json")
    if not note.exists():
        tell(f"DROP DATABASE IF EXISTS {SNAPSHOT} WITH (FORCE)")
        tell(f"CREATE DATABASE {SNAPSHOT}")
    _use(SNAPSHOT)
    call_command("migrate", verbosity=0)
    if not note.exists():
        call_command("set_up")
        note.write_text(json.dumps(asdict(fill(size))))
    keep_wait_counts()
    return Filled(**json.loads(note.read_text()))


def _use(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name
