"""Threads that look names up, the lowest rank first."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(order=True, slots=True)
class LookupJob:
    #: the place in the queue: the time when the name is needed, unless names in the latest links go
    #: first
    rank: float
    name: str = field(compare=False)
    #: the time when the name is needed
    due: float = field(compare=False)


class Lane:
    """A pool of threads whose size can change: threads are made when first needed, and wait when
    they are too many.

    Any idle thread takes the next job: which thread it is does not matter, which name does.
    """

    def __init__(self, label: str, work: Callable[[LookupJob], None]) -> None:
        self._label, self._work = label, work
        self._jobs: list[LookupJob] = []
        self._threads: list[threading.Thread] = []
        self._size, self._busy, self._closing = 0, 0, False
        self._change = threading.Condition()

    def resize(self, size: int) -> None:
        """Set the number of threads; those at work finish their jobs."""
        with self._change:
            self._size = size
            self._start_thread_if_needed()
            self._change.notify_all()

    def add_job(self, job: LookupJob) -> None:
        with self._change:
            heapq.heappush(self._jobs, job)
            self._start_thread_if_needed()
            self._change.notify()

    @property
    def size(self) -> int:
        return self._size

    @property
    def busy(self) -> int:
        return self._busy

    @property
    def depth(self) -> int:
        """The number of jobs that wait or are under way."""
        return len(self._jobs) + self._busy

    def close(self, seconds: float) -> list[LookupJob]:
        """Start no more jobs, and return the jobs that are left. Threads that wait for a name
        server get `seconds` to end.
        """
        with self._change:
            self._closing = True
            left, self._jobs = self._jobs, []
            self._change.notify_all()
        for thread in self._threads:
            thread.join(seconds / len(self._threads))
        return left

    def _start_thread_if_needed(self) -> None:
        if len(self._threads) < min(self._size, self._busy + len(self._jobs)) and not self._closing:
            thread = threading.Thread(
                target=self._run_jobs, name=f"dns-{self._label}-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def _run_jobs(self) -> None:
        while (job := self._await_job()) is not None:
            try:
                self._work(job)
            finally:
                with self._change:
                    self._busy -= 1
                    self._change.notify()

    def _await_job(self) -> LookupJob | None:
        with self._change:
            while not self._closing and (not self._jobs or self._busy >= self._size):
                self._change.wait()
            if self._closing:
                return None
            job = heapq.heappop(self._jobs)
            self._busy += 1
            self._start_thread_if_needed()
            return job
