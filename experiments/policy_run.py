"""The run of one policy of an experiment: its pool, its threads, and what they share."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

from django.conf import settings
from django.db import OperationalError, connections

from allocation.models import Policy
from allocation.services import NewClass, create_pool, renew_lease
from crawling.jobs.running_job import JobGone
from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.http import fetch
from experiments.attempt import (
    AttemptLost,
    ExperimentStopped,
    RequestAttempt,
    WaitRegistry,
)
from experiments.models import ExperimentOutcome, ExperimentPolicy
from experiments.pool_state import deadlocked_processes_of_pool, unsafe_grants
from experiments.store import RunningExperiment, count_unsafe_grants
from experiments.synthetic_web import HOST
from experiments.workload import CLASSES, Workload, WorkloadJob

#: the number of attempts after which a request counts as locked for good, since the experiment must
#: end
MOST_ATTEMPTS = 10
MAX_PAGE_BYTES = 64 * 1024
ANSWER_SECONDS = 10.0
#: policies whose pools grant all units that are free
UNCHECKED = (ExperimentPolicy.NAIVE, ExperimentPolicy.ALL_AT_ONCE)
SIGN_OF_LIFE_SECONDS = 2.0
HEADERS = {"User-Agent": "crawlsite-experiment", "Connection": "keep-alive"}


class PolicyRun:
    """Runs rounds of a workload under one policy, in a pool of its own, which stays for users to
    inspect.
    """

    def __init__(
        self, running: RunningExperiment, policy: str, workload: Workload, web: str
    ) -> None:
        self._running, self.experiment, self.policy = running, running.experiment, policy
        self._at_a_time = workload.at_a_time
        classes = [
            NewClass(*one, capacity)
            for one, capacity in zip(CLASSES, workload.capacity, strict=True)
        ]
        bank = Policy.NAIVE if policy in UNCHECKED else Policy(policy)
        self.pool = create_pool(
            name=self.experiment.pool_name(policy), classes=classes, policy=bank, is_experiment=True
        )
        self.waits = WaitRegistry()
        #: the process and epoch of every living shift
        self.leases: dict[int, int] = {}
        self.stopping = threading.Event()
        self._is_told_to_stop = False
        self._web = web
        self._round = 0
        self._to_do: deque[tuple[WorkloadJob, int]] = deque()
        #: the number and attempt of each process of the pool
        self._tries: dict[int, tuple[int, int]] = {}

    def run(self, number: int, jobs: Sequence[WorkloadJob]) -> None:
        """Run the jobs of a round, and count the unsafe grants so far.

        Raises a thread's exception, and JobGone, after all threads have released their units.
        """
        at_once = self.policy == ExperimentPolicy.ALL_AT_ONCE
        self._round, self.stopping = number, threading.Event()
        self._to_do.extend((job.at_once() if at_once else job, 1) for job in jobs)
        over = threading.Event()
        keeping = threading.Thread(
            target=self._keep_alive, args=(over,), name="experiment leases", daemon=True
        )
        keeping.start()
        try:
            with ThreadPoolExecutor(self._at_a_time, thread_name_prefix="experiment") as threads:
                self._await_threads(
                    [threads.submit(self._run_thread) for _ in range(self._at_a_time)]
                )
        finally:
            over.set()
            keeping.join()
        if self._is_told_to_stop:
            raise JobGone
        unsafe = unsafe_grants(self.pool)
        count_unsafe_grants(
            self.experiment, self.policy, {self._tries[one]: n for one, n in unsafe.items()}
        )

    def fetch(self, session: PinnedSession, page: int) -> None:
        """Fetch a page of the experiment's web. Raises AttemptLost or ExperimentStopped."""
        if self.stopping.is_set():
            raise ExperimentStopped
        fetched = fetch(
            session, f"{self._web}/{page}", address=HOST, headers=HEADERS, max_bytes=MAX_PAGE_BYTES
        )
        fetched.close()
        if fetched.status != 200:
            raise AttemptLost(f"Page {page} could not be had: {fetched.error or fetched.status}")

    def deadlocked_now(self) -> frozenset[int]:
        return deadlocked_processes_of_pool(self.pool)

    def _await_threads(self, futures: list[Future[None]]) -> None:
        try:
            for future in as_completed(futures):
                future.result()
        finally:
            # Without an error all threads have ended; after one, or Ctrl-C, the others are stopped.
            self.stopping.set()
            self.waits.wake_all()

    def _run_thread(self) -> None:
        """The loop of one thread: take the next request, until there is none.

        A locked request goes to the end of the queue.
        """
        session = PinnedSession(answer_seconds=ANSWER_SECONDS, answer_bytes=2 * MAX_PAGE_BYTES)
        try:
            while not self.stopping.is_set() and (task := self._next_attempt()):
                job, attempt = task
                trying = RequestAttempt(self, session, job, attempt)
                tried = trying.run()
                if trying.process is not None:
                    self._tries[trying.process] = job.number, attempt
                self._running.record(self.policy, replace(tried, round=self._round))
                if tried.outcome == ExperimentOutcome.LOCKED and attempt < MOST_ATTEMPTS:
                    self._to_do.append((job, attempt + 1))
        except ExperimentStopped:
            return
        finally:
            session.close()
            connections.close_all()

    def _renew_leases(self) -> None:
        for process, epoch in list(self.leases.items()):
            renew_lease(process=process, epoch=epoch)

    def _next_attempt(self) -> tuple[WorkloadJob, int] | None:
        try:
            return self._to_do.popleft()
        except IndexError:
            return None

    def _keep_alive(self, over: threading.Event) -> None:
        """Renew leases after a third of their time, and send the experiment's heartbeat."""
        every = settings.BANK_LEASE_SECONDS / 3
        renewed_at = time.monotonic()
        try:
            while not over.wait(min(SIGN_OF_LIFE_SECONDS, every)):
                try:
                    if not self._running.goes_on():
                        self._is_told_to_stop = True
                        self.stopping.set()
                        self.waits.wake_all()
                    if time.monotonic() - renewed_at >= every:
                        renewed_at = time.monotonic()
                        self._renew_leases()
                except OperationalError:  # as when PostgreSQL restarts: the next turn tries again
                    connections.close_all()
        finally:
            connections.close_all()
