"""Crawl in this process, without workers and scheduler."""

from __future__ import annotations

from collections.abc import Sequence

from allocation.models import OutboxKind, Pool, Process, ProcessState
from allocation.services import create_pool, mark_sent, unsent_outbox
from crawling.installation.default_pool import default_classes
from crawling.models import AllowedNetwork, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl, free_name
from crawling.runs.start import start_run
from crawling.scheduler.duties import start_due_crawls
from crawling.work.worker.jobs import run_shift


def make_ready() -> None:
    """Allow loopback, and make a pool if there is none."""
    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    if not Pool.objects.exists():
        create_pool(name="default", classes=default_classes(2))


def nothing_is_held() -> bool:
    """Whether no process holds or waits for anything: a benchmark that was killed leaves its own,
    and the next has fewer workers.
    """
    return not Process.objects.exclude(state=ProcessState.FINISHED).exists()


def granted_shifts() -> list[tuple[int, int]]:
    """Ask for what is due, and return the shifts that were granted since, as the scheduler would
    hand them out.
    """
    start_due_crawls()
    granted = [message for message in unsent_outbox() if message.kind == OutboxKind.START]
    mark_sent(ids=[message.id for message in granted])
    return [
        (message.process, message.epoch)
        for message in granted
        if message.process is not None and message.epoch is not None
    ]


def crawl_to_the_end(name: str, seeds: Sequence[str], **fields: object) -> Run:
    """Make a crawl and do its shifts one after the other."""
    order = {"name": free_name(name), "seeds": list(seeds), "delay_seconds": 0.02, **fields}
    return run_to_the_end(start_run(create_crawl(order)))


def run_to_the_end(run: Run) -> Run:
    """Do the shifts of a run one after the other."""
    while run.state not in ENDED_STATES:
        for shift in granted_shifts():
            run_shift(*shift)
        run.refresh_from_db()
    return run
