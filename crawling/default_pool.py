"""The pool that a new installation begins with, from the machine's size.

Editable in the admin site afterwards.
"""

from __future__ import annotations

import os

import psutil

from allocation.services import NewClass

MIB = 1024 * 1024
#: a line of 100 MiB/s
LINE_KIB_PER_SECOND = 102_400
#: of it, what webhooks have for themselves: they must get through when nothing is free, so the pool
#: never grants it
WEBHOOK_KIB_PER_SECOND = 64


def default_classes(workers: int, *, cores: int = os.cpu_count() or 1) -> list[NewClass]:
    """The classes, each with the code that enforces it named by its sentence."""
    return [
        NewClass(
            "worker",
            "workers",
            "RQ workers; every shift occupies one, so a grant always finds one.",
            workers,
        ),
        NewClass(
            "fetch_slots",
            "threads",
            "Fetches under way; a shift runs one fetch thread for each.",
            32 * cores,
        ),
        NewClass(
            "bandwidth",
            "KiB/s",
            "Download rate; a shift's fetcher keeps to its share by a token bucket. "
            f"{WEBHOOK_KIB_PER_SECOND} KiB/s beside it are for webhooks.",
            LINE_KIB_PER_SECOND - WEBHOOK_KIB_PER_SECOND,
        ),
        NewClass(
            "memory",
            "MiB",
            "Documents in hand: a share a fetch thread, and the programs that read PDF.",
            psutil.virtual_memory().total // MIB // 8,
        ),
        NewClass(
            "dns_slots",
            "look-ups",
            "Name look-ups under way; the most that a shift has at a time.",
            16 * cores,
        ),
        NewClass(
            "archive_writers",
            "files",
            "Archive files open for writing; a shift opens one with its first document.",
            max(2 * workers, 4),
        ),
    ]
