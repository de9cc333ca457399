"""The pool that a new installation begins with, from the machine's size.

Editable in the admin site afterwards.
"""

from __future__ import annotations

import os

import psutil

from allocation.services import NewClass
from crawling.orders.claims import USUAL_CLAIM

MIB = 1024 * 1024
#: a line of 100 MiB/s
LINE_KIB_PER_SECOND = 102_400
#: of it, what webhooks have for themselves: they must get through when nothing is free, so the pool
#: never grants it
WEBHOOK_KIB_PER_SECOND = 64


def default_classes(workers: int, *, cores: int = os.cpu_count() or 1) -> list[NewClass]:
    """The classes, each with the code that enforces it named by its sentence.

    As many usual crawls as there are workers fit in at once, beside a DNS resolver that has half of
    the look-ups.
    """
    look_ups = 2 * USUAL_CLAIM["dns_slots"] * workers
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
            max(32 * cores, USUAL_CLAIM["fetch_slots"] * workers),
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
            max(16 * cores, look_ups),
        ),
        NewClass(
            "archive_writers",
            "files",
            "Archive files open for writing; a shift opens one with its first document.",
            max(2 * workers, 4),
        ),
    ]
