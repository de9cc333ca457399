"""A scene that is filled once and measured often: a database that stays, and a copy of it for each
measurement, which that may change.
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

from benchmarks.scene.installation import Filled, Size, fill

SCENE, COPY = "bench_scene", "bench_scene_copy"


@contextmanager
def copy_of_scene(size: Size) -> Iterator[Filled]:
    """The copy; the scene is filled first if there is none, and migrated if it is an old one."""
    own = connection.settings_dict["NAME"]
    try:
        filled = _scene(size)
        _use(own)
        _drop(COPY)
        _tell(f"CREATE DATABASE {COPY} TEMPLATE {SCENE} STRATEGY FILE_COPY")
        _use(COPY)
        yield filled
    finally:
        _use(own)
        _drop(COPY)


def _scene(size: Size) -> Filled:
    """What is written down last is whole. An old one lacks counts that schedulers keep by now."""
    from allocation.services import keep_wait_counts

    note = Path(settings.ENVIRONMENT.state_dir, f"{SCENE}.json")
    if not note.exists():
        _drop(SCENE)
        _tell(f"CREATE DATABASE {SCENE}")
    _use(SCENE)
    call_command("migrate", verbosity=0)
    if not note.exists():
        call_command("set_up")
        note.write_text(json.dumps(asdict(fill(size))))
    keep_wait_counts()
    return Filled(**json.loads(note.read_text()))


def _use(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name


def _drop(name: str) -> None:
    _tell(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _tell(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
