"""What a shift spends, by its threads."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from resource import RUSAGE_SELF, getrusage

import psutil
from django.db import connection

from benchmarks.crawling import stage_costs
from crawling.work.worker.jobs import run_shift

LOOK_SECONDS = 0.1
#: a thread's name, up to its number -> what it does
DOES = {
    "MainThread": "claims and records (the shift's thread)",
    "fetch": "fetches and extracts (fetch threads)",
    "archive": "archives",
    "names": "resolves",
    "queries": "asks for fetch threads",
    "lease": "renews leases",
}


@dataclass
class Spending:
    #: of the processor, by threads
    seconds: Counter[str] = field(default_factory=Counter)
    #: of the processor, by stages where these are measured (`benchmarks.crawling.stage_costs`)
    stages: Counter[str] = field(default_factory=Counter)
    #: statements of the shift's own thread
    queries: int = 0
    #: how often threads waited, for each other or for the world (voluntary context switches)
    waits: int = 0
    #: of memory that the process had
    most_bytes: int = 0

    def add(self, other: Spending) -> None:
        self.seconds.update(other.seconds)
        self.stages.update(other.stages)
        self.queries += other.queries
        self.waits += other.waits
        self.most_bytes = max(self.most_bytes, other.most_bytes)


def shift_spending(process_id: int, epoch: int) -> Spending:
    """Do a shift, and say what that cost."""
    spending, ended = Spending(), threading.Event()
    stage_costs.spent()  # what was before it does not count
    watcher = threading.Thread(target=_watch, args=(spending, ended), name="watcher")
    watcher.start()
    waited = getrusage(RUSAGE_SELF).ru_nvcsw

    def count(execute: object, sql: str, params: object, many: bool, context: object) -> object:
        spending.queries += 1
        return execute(sql, params, many, context)  # type: ignore[operator]

    with connection.execute_wrapper(count):
        run_shift(process_id, epoch)
    spending.waits = getrusage(RUSAGE_SELF).ru_nvcsw - waited
    ended.set()
    watcher.join()
    spending.stages.update(stage_costs.spent())
    return spending


def _watch(spending: Spending, ended: threading.Event) -> None:
    """Threads come and go; what each has had is read again and again, and what it had before the
    shift does not count.
    """
    process = psutil.Process()
    before = {thread.id: thread.user_time + thread.system_time for thread in process.threads()}
    latest: dict[int, tuple[str, float]] = {}
    while not ended.wait(LOOK_SECONDS):
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        for thread in process.threads():
            name = names.get(thread.id, "").split("-")[0].split("_")[0]
            if name != "watcher":
                seconds = thread.user_time + thread.system_time - before.get(thread.id, 0.0)
                latest[thread.id] = (
                    DOES.get(name, latest.get(thread.id, ("other threads", 0.0))[0]),
                    seconds,
                )
        spending.most_bytes = max(spending.most_bytes, process.memory_info().rss)
    for name, seconds in latest.values():
        spending.seconds[name] += seconds  # type: ignore[assignment]
