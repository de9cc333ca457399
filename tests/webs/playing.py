"""Real workers crawl cases: all at once, or one alone."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psutil

from crawling.base.errors import WrongState
from crawling.models import Run, Shift
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import stop
from tests.forked import Program
from tests.nameserver import serve_names
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until
from tests.webs.case import Case
from tests.webs.judging import Seen
from tests.webs.server import CaseServer, serve_cases

LOOK_SECONDS = 0.05
#: the limit for the small cases together; a busy machine needs several times the usual 30 s
TOGETHER_SECONDS = 200.0
numbers = count(1)

Stage = tuple[list[CaseServer], "Memory"]


def play_together(order: Callable, tmp_path: Path, cases: list[Case]) -> list[Seen]:
    """Crawl all cases at once with two workers, those of equal orders by one crawl.

    Runs that have not ended in time are stopped, which is reported as a fault of their cases. The
    largest work process counts for every case.
    """
    with _stage(tmp_path, cases, workers=2) as (servers, memory):
        groups: dict[str, list[CaseServer]] = {}
        for server in servers:
            key = json.dumps(dict(server.case.order), sort_keys=True)
            groups.setdefault(key, []).append(server)
        runs = {key: _start(order, group) for key, group in groups.items()}
        _await_ends(list(runs.values()), TOGETHER_SECONDS)
        run_of = {server.address: runs[key] for key, group in groups.items() for server in group}
        most = memory.most_mib
        return [Seen(server.case, server, run_of[server.address], most) for server in servers]


def play_alone(order: Callable, tmp_path: Path, case: Case) -> Seen:
    """Crawl one case with one worker. The run has a minute more than its case."""
    with _stage(tmp_path, [case], workers=1) as ([server], memory):
        run = _start(order, [server])
        _await_ends([run], case.seconds + 60)
        return Seen(case, server, run, memory.most_mib, is_alone=True)


class Memory:
    """The largest resident size of the workers' work processes, from the kernel's record of
    each.
    """

    def __init__(self, workers: list[Program]) -> None:
        self.most_mib, self._workers, self._closing = 0.0, workers, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            for worker in self._workers:
                with suppress(psutil.Error):  # the process has just ended
                    for child in psutil.Process(worker.pid).children():
                        self.most_mib = max(self.most_mib, _peak_mib(child.pid))


def _peak_mib(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


@contextmanager
def _stage(tmp_path: Path, cases: list[Case], *, workers: int) -> Iterator[Stage]:
    with (
        serve_names() as names,
        serve_cases(cases, names) as servers,
        running_stack(tmp_path, DNS_SERVERS="{}:{}".format(*names.address)) as stack,
    ):
        stack.start(SCHEDULER)
        memory = Memory([stack.start(WORKER) for _ in range(workers)])
        try:
            yield servers, memory
        finally:
            memory.close()


def _start(order: Callable, servers: list[CaseServer]) -> Run:
    fields = {"archive": False, **servers[0].case.order}
    name = f"cases {next(numbers)}"
    return start_run(create_crawl(order(*(server.seed for server in servers), name=name, **fields)))


def _await_ends(runs: list[Run], seconds: float) -> None:
    """Wait for the runs' ends, or stop them; each `run` has its state from the time when its limit
    was over.
    """
    until = time.monotonic() + seconds
    while any(run.state not in ENDED_STATES for run in runs) and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        for run in runs:
            run.refresh_from_db()
    late = [run.pk for run in runs if run.state not in ENDED_STATES]
    for run in Run.objects.filter(pk__in=late):
        with suppress(WrongState):  # the run has ended just now
            stop(run.crawl)
    wait_until(lambda: not Shift.objects.filter(process__run__in=late, ended_at=None).exists())
