"""Crawls of loopback, done by this process alone, or started for others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from django.db.models import Sum

from allocation.models import OutboxKind, Pool, Process, ProcessState
from allocation.services import NewClass, create_pool, mark_sent, unsent_outbox
from benchmarks.scene.sites import served_webs
from benchmarks.timer import await_change
from crawling.fetching.worker.jobs import run_shift
from crawling.installation.identity import set_identity
from crawling.installation.pools import default_classes
from crawling.models import AllowedNetwork, Run, RunTotal
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl, free_name
from crawling.runs.start import start_run
from crawling.scheduler.duties import start_due_crawls
from tests.webs.synthetic import SyntheticWeb

WARM_PAGES, PATIENCE_SECONDS = 1_500, 60


def make_ready(classes: Sequence[NewClass] = ()) -> None:
    """Allow loopback addresses. If there is no pool, create one with the usual classes or with
    these.
    """
    allow_loopback()
    if not Pool.objects.exists():
        create_pool(name="default", classes=classes or default_classes(2))


def allow_loopback() -> None:
    set_identity("crawlsite", "https://crawls.example.org/about")
    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)


def nothing_is_held() -> bool:
    """Whether no process holds or waits for units. A killed benchmark leaves its processes behind,
    so that the next one would have fewer workers.
    """
    return not Process.objects.exclude(state=ProcessState.FINISHED).exists()


def begin_crawl(name: str, seeds: Sequence[str], **fields: object) -> Run:
    """Start a new crawl, without a delay unless one is given."""
    order = {"name": free_name(name), "seeds": list(seeds), "delay_seconds": 0, **fields}
    return start_run(create_crawl(order))


def granted_shifts() -> list[tuple[int, int]]:
    """Request due shifts. Return the shifts of the runs that were granted since, as the scheduler
    would hand them out.
    """
    start_due_crawls()
    granted = [message for message in unsent_outbox() if message.kind == OutboxKind.START]
    mark_sent(ids=[message.id for message in granted])
    return [
        (message.process, message.epoch)
        for message in granted
        if message.run_ref.startswith("run/")
        and message.process is not None
        and message.epoch is not None
    ]


def to_the_end(run: Run) -> Run:
    """Do the shifts of a run, one after the other."""
    while run.state not in ENDED_STATES:
        for shift in granted_shifts():
            run_shift(*shift)
        run.refresh_from_db()
    return run


def have_ended(runs: Sequence[int]) -> bool:
    return not Run.objects.filter(pk__in=runs).exclude(state__in=ENDED_STATES).exists()


def fetched_count(runs: Sequence[int]) -> int:
    """The number of these runs' pages."""
    total = RunTotal.objects.filter(run__in=runs).aggregate(pages=Sum("fetched"))["pages"]
    return total or 0


def await_full_speed(runs: Sequence[int]) -> None:
    """Wait until the crawls have found pages, since their rate rises in their first seconds."""
    await_change(
        lambda: all(fetched_count([run]) >= WARM_PAGES for run in runs),
        f"The crawls do not fetch {WARM_PAGES:,} pages.",
        seconds=PATIENCE_SECONDS,
        every=0.5,
    )


def busy_webs(hosts: int = 8, width: int = 1500) -> AbstractContextManager[list[list[str]]]:
    """The seeds of two webs that answer at once, with the priority of the processes that crawl
    them.
    """
    web = SyntheticWeb(11, hosts=hosts, width=width, error_percent=0, slow_percent=0, first_host=11)
    other = replace(web, seed=11 + hosts, first_host=11 + hosts)
    return served_webs(web, other, gives_way=True)
