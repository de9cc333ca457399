"""The run of one policy of an experiment on shifts: its pool, its crawls on sites of their own, the
pool's decisions meanwhile, and the removal of everything except the pool.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.process import BaseProcess
from urllib.parse import urlsplit

from django.db.models import F, Sum
from django.db.models.functions import Coalesce, Now

from allocation.models import Policy, Request, RequestState
from allocation.services import create_pool
from crawling.base.errors import CrawlError, WrongState
from crawling.frontier import counts_of
from crawling.installation.identity import add_access_rule
from crawling.installation.pools import default_classes
from crawling.jobs.running_job import JobGone
from crawling.models import AllowedNetwork, CrawlJob, Run, Shift
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import abort
from experiments.crawl_workload import (
    AT_A_TIME,
    WORKERS,
    CrawlWorkload,
    PlannedSite,
)
from experiments.models import Experiment, ExperimentOutcome
from experiments.pool_state import BLOCKING, deadlocked_processes_of_pool, unsafe_grants
from experiments.store import AttemptResult, RunningExperiment
from experiments.synthetic_web import HOST, serve_sites

#: how often the pool is read
LOOK_SECONDS = 0.25
#: the time after which a crawl is ended
MOST_SECONDS = 300
#: the time that aborted crawls may take to end
END_SECONDS = 30.0


class WorkersLost(CrawlError):
    """The workers of the experiment ended; the log of its process says why."""


class ShiftPolicyRun:
    """Runs crawls in rounds under one policy, in a pool made for it, which is kept."""

    def __init__(
        self,
        running: RunningExperiment,
        policy: str,
        workload: CrawlWorkload,
        workers: Sequence[BaseProcess],
    ) -> None:
        self._running, self._experiment, self._policy = running, running.experiment, policy
        self._workers = workers
        classes = [
            replace(one, capacity=workload.capacity.get(one.key, 0))
            for one in default_classes(WORKERS)
        ]
        self.pool = create_pool(
            name=self._experiment.pool_name(policy),
            classes=classes,
            policy=Policy(policy),
            is_experiment=True,
        )
        #: the runs of the round
        self._runs: dict[int, Run] = {}
        #: the waits that passed the bound, and those of processes that were truly deadlocked then
        self._judged: set[object] = set()
        self._deadlocked: set[int] = set()

    def run(self, round_: int, sites: Sequence[PlannedSite]) -> None:
        """Start the crawls of a round, wait for their ends, and store each one's result.

        Raises JobGone, WorkersLost.
        """
        self._runs = {}
        with serve_sites(sites) as addresses:
            for address in addresses.values():
                self._allow_network(urlsplit(address).port or 0)
            to_do = deque(sites)
            while (going_on := self._count_unfinished()) or to_do:
                for _ in range(min(AT_A_TIME - going_on, len(to_do))):
                    site = to_do.popleft()
                    self._runs[site.number] = self._start_crawl(site, addresses[site.number])
                time.sleep(LOOK_SECONDS)  # the workers, in other processes, change the rows
        unsafe = unsafe_grants(self.pool)
        for number, run in self._runs.items():
            result = replace(self._attempt_result(number, run, unsafe), round=round_)
            self._running.record(self._policy, result)

    def _allow_network(self, port: int) -> None:
        note = network_note(self._experiment)
        network = AllowedNetwork(network=HOST, port_from=port, port_to=port, note=note)
        add_access_rule(network, by=self._experiment.job.by)

    def _start_crawl(self, site: PlannedSite, address: str) -> Run:
        order = {
            "name": f"Experiment {self._experiment.pk}, {self._policy}: crawl {site.number}",
            "seeds": [f"{address}/"],
            "delay_seconds": 0,
            "processes": 1,
            "max_seconds": MOST_SECONDS,
            "claim": site.claim,
        }
        by = self._experiment.job.by
        return start_run(create_crawl(order, by=by, own_pool=self.pool), by=by)

    def _count_unfinished(self) -> int:
        """The number of crawls that have not ended; waits are judged meanwhile."""
        if not self._running.goes_on():
            raise JobGone
        if not all(worker.is_alive() for worker in self._workers):
            raise WorkersLost
        self._judge_waits()
        runs = Run.objects.filter(pk__in=[run.pk for run in self._runs.values()])
        return runs.exclude(state__in=ENDED_STATES).count()

    def _judge_waits(self) -> None:
        """Find out which processes are truly deadlocked, once for each wait that passes the
        bound.
        """
        bound = self._experiment.bound_seconds
        late = [
            (pk, process)
            for pk, process, waited in Request.objects.filter(
                pool=self.pool, state=RequestState.WAITING, kind__in=BLOCKING
            ).values_list("pk", "process", Now() - F("created_at"))
            if waited.total_seconds() > bound and pk not in self._judged
        ]
        if late:
            self._judged.update(pk for pk, _ in late)
            self._deadlocked |= deadlocked_processes_of_pool(self.pool) & {
                process for _, process in late
            }

    def _attempt_result(self, number: int, run: Run, unsafe: Counter[int]) -> AttemptResult:
        run.refresh_from_db()
        processes = set(run.processes.values_list("bank_process", flat=True))
        waits = Request.objects.filter(process__in=processes, kind__in=BLOCKING).aggregate(
            waited=Sum(Coalesce("decided_at", Now()) - F("created_at"))
        )["waited"]
        waited = waits.total_seconds() if waits else 0.0
        shifts = Shift.objects.filter(process__run=run)
        is_done = run.state == RunState.FINISHED
        is_late = waited > self._experiment.bound_seconds
        return AttemptResult(
            number,
            1,
            run.created_at,
            run.finished_at or run.created_at,
            waited,
            ExperimentOutcome.CRASHED
            if not is_done
            else ExperimentOutcome.LOCKED
            if is_late
            else ExperimentOutcome.COMPLETED,
            bool(self._deadlocked & processes),
            pages=counts_of([run.pk])[run.pk].fetched,
            deciding_seconds=shifts.aggregate(all=Sum("deciding_seconds"))["all"] or 0.0,
            unsafe_grants=sum(unsafe[process] for process in processes),
            detail="" if is_done else run.reason,
        )


def network_note(experiment: Experiment) -> str:
    """The note of the networks that an experiment allows."""
    return f"{experiment}, while it runs"


def remove_crawls_of_experiment(experiment: Experiment, *, seconds: float = END_SECONDS) -> bool:
    """Abort and permanently delete the crawls that an experiment has left, and no longer allow its
    sites. Return whether none is left. Safe to repeat.
    """
    AllowedNetwork.objects.filter(note=network_note(experiment)).delete()
    names = [experiment.pool_name(policy) for policy in experiment.policies]
    crawls, until = CrawlJob.objects.filter(pool__in=names), time.monotonic() + seconds
    _remove_crawls(crawls.all())
    while is_left := crawls.exists():
        if time.monotonic() > until:
            break
        time.sleep(LOOK_SECONDS)  # shifts end in other processes, and then their crawls are deleted
        _remove_crawls(crawls.all())
    return not is_left


def _remove_crawls(crawls: Iterable[CrawlJob]) -> None:
    """Abort running crawls, and delete ended ones."""
    for crawl in crawls:
        run = crawl.runs.first()
        # the crawl ends meanwhile, or has not ended yet: it is tried again next time
        with suppress(WrongState):
            if run and run.state not in ENDED_STATES:
                abort(crawl)
            delete_crawl(crawl, by=None, for_good=True)
