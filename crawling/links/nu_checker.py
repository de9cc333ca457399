"""The Nu HTML checker, which names what is wrong in a document: a Java program that is installed
apart (docs/decisions/0106). Documents that strangers wrote are checked within limits.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from crawling.links.nu_checker_run import NuMessage, run_checker
from crawling.process.npm_package import NpmPackage
from crawling.process.work_folders import work_folder

JAR = "vnu.jar"
CHECKER = NpmPackage(
    name="nu-checker",
    version="26.9.27",
    integrity="sha512-"
    "TkQd5DFfOaWC9ebtvozTsrH2Vaod3jYg+vrOeREzIXxBexLz9+rS2DNtjn7+RPUiZhgli0SghgBX6RJRNea0KA==",
    files={f"build/dist/{JAR}": JAR, "LICENSE": "LICENSE"},
)
#: that the checker is compiled for
LEAST_JAVA = 17
#: larger documents are not checked: part of one would have errors that the whole has not
MOST_BYTES = 1024 * 1024
#: what a caller must have been granted for a run; docs/decisions/0106 has the measurement
MEMORY_MIB = 384
#: Time of the processor: for the start of the JVM, and for each document, which a run has together.
START_SECONDS = 10
DOCUMENT_SECONDS = 1
#: of the clock for each of these seconds, since other work goes first; all runs of a call together
#: have what the first would have alone
CLOCK_SECONDS = 20


@dataclass(frozen=True)
class _Task:
    """What the runs of a call share."""

    java: str
    files: Sequence[Path]
    held_by: int
    until: float
    found: list[list[NuMessage] | None]


def why_unavailable() -> str:
    """What to do before documents can be checked on this machine; "" if nothing is missing."""
    java = shutil.which("java")
    if java is None:
        return (
            f"Java is not found: install a Java runtime, version {LEAST_JAVA} or later, for "
            "example Debian's default-jre-headless."
        )
    if (version := _java_version(java, str(Path(java).resolve()))) < LEAST_JAVA:
        return f"Java {version} is too old: install version {LEAST_JAVA} or later."
    if not CHECKER.is_installed(settings.STATE_DIR):
        return "The Nu HTML checker is not installed: run `make nu-checker`."
    return ""


def check_documents(documents: Sequence[bytes]) -> list[list[NuMessage] | None]:
    """The messages of each HTML document, in order; None: too large, or too much for the checker.

    Of a document of which it says very much, the first messages. Some tens of documents share the
    start of a run, which takes longer than most documents. `why_unavailable` must be empty. Raises
    OSError.
    """
    java = shutil.which("java")
    assert java
    with work_folder() as folder:
        small = [number for number, it in enumerate(documents) if len(it) <= MOST_BYTES]
        files = [folder.path / f"{number}.html" for number in small]
        for number, file in zip(small, files, strict=True):
            file.write_bytes(documents[number])
        until = time.monotonic() + CLOCK_SECONDS * _cpu_seconds(len(files))
        task = _Task(java, files, folder.held_by, until, [None] * len(files))
        _check(task, 0, len(files))
    result: list[list[NuMessage] | None] = [None] * len(documents)
    for number, found in zip(small, task.found, strict=True):
        result[number] = found
    return result


def _check(task: _Task, first: int, end: int) -> None:
    """Check these documents. A run that fails has checked those before the one at work; the others
    are halved, so that the bad one costs itself alone.
    """
    while first < end and (left := task.until - time.monotonic()) > 0:
        run = run_checker(
            task.java,
            CHECKER.folder(settings.STATE_DIR) / JAR,
            task.files[first:end],
            cpu_seconds=_cpu_seconds(end - first),
            seconds=left,
            held_by=task.held_by,
        )
        task.found[first : first + run.checked] = run.messages[: run.checked]
        first += run.checked
        if first < end and not run.is_cut:
            if end - first == 1:
                return
            middle = (first + end) // 2
            _check(task, first, middle)
            first = middle


def _cpu_seconds(documents: int) -> int:
    return START_SECONDS + DOCUMENT_SECONDS * documents


@lru_cache(maxsize=4)
def _java_version(java: str, _resolved: str) -> int:
    """0: it does not say. `_resolved` tells another installation of the same name."""
    try:
        said = subprocess.run(  # noqa: S603
            [java, "-version"], capture_output=True, timeout=20, check=True, text=True, env={}
        ).stderr
        return int(said.split('"')[1].partition(".")[0])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return 0
