"""Imports that users request, of files in IMPORT_DIR."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.contrib.auth.models import User

from crawling.base.errors import BadOrder, NotFound
from crawling.jobs.enqueue import request_job
from crawling.models import BackgroundJob
from crawling.runs.crawls.creation import LONGEST_NAME
from crawling.uses.imports.foreign_files import ARCHIVES, printable
from crawling.uses.imports.jobs import IMPORT, requested_imports

ENDINGS = (*ARCHIVES, ".wacz", ".zip")
MOST_FILES = 100
#: the most files in IMPORT_DIR that are offered
MOST_OFFERED = 500


def offered_files() -> dict[str, int]:
    """The names and sizes of the files in IMPORT_DIR that can be imported, by name, up to
    MOST_OFFERED. Files behind a link, or with names that cannot be shown, are left out.
    """
    folder = Path(settings.IMPORT_DIR)
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        names = sorted(
            entry.name
            for entry in entries
            if entry.name.lower().endswith(ENDINGS)
            and entry.name.isprintable()
            and entry.is_file(follow_symlinks=False)
        )
    sizes: dict[str, int] = {}
    for name in names[:MOST_OFFERED]:
        with suppress(FileNotFoundError):  # the file has just been removed
            sizes[name] = (folder / name).stat().st_size
    return sizes


def request_import(files: Sequence[str], name: str, *, by: User | None) -> BackgroundJob:
    """Request a background job that imports files of IMPORT_DIR as one run.

    name: the name of the crawl; empty to derive it from the first file. Raises BadOrder.
    """
    errors, offered = {}, offered_files()
    if not 1 <= len(files) <= MOST_FILES or len(set(files)) < len(files):
        errors["files"] = f"must be 1 to {MOST_FILES} different files"
    elif unknown := [file for file in files if file not in offered]:
        errors["files"] = f"{unknown[0][:100]!r} is no WARC, ARC or WACZ file in IMPORT_DIR"
    if len(name) > LONGEST_NAME or not name.isprintable():
        errors["name"] = f"must be one line of up to {LONGEST_NAME} characters"
    if errors:
        raise BadOrder(errors)
    asked = {
        "files": list(files),
        "name": name.strip() or crawl_name_of_file(files[0]),
        # the namespace of the first archive file; it shows whether an import has made its run
        # already
        "namespace": str(uuid4()),
        "bytes": sum(offered[file] for file in files),
    }
    return request_job(IMPORT, None, asked, by=by)


def find_import(import_id: int) -> BackgroundJob:
    """Raises NotFound."""
    job: BackgroundJob | None = requested_imports().filter(pk=import_id).first()
    if job is None:
        raise NotFound(f"There is no import {import_id}.")
    return job


def crawl_name_of_file(file: str) -> str:
    stem = Path(file).name
    ending = next((ending for ending in ENDINGS if stem.lower().endswith(ending)), "")
    ending = stem[len(stem) - len(ending) :]
    return f"Import of {printable(stem.removesuffix(ending))}"[:LONGEST_NAME]
