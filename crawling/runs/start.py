"""Start runs of crawls."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from crawling.base.alert_events import AlertEvent
from crawling.base.audit import record_action
from crawling.base.errors import TooManyWait, WrongState
from crawling.frontier import (
    Candidate,
    locked_run,
    rules_key,
    schedule_urls,
    serving_process_numbers,
)
from crawling.frontier.admit.quarantine import copy_decisions
from crawling.frontier.run_counts import count_seeds
from crawling.installation.events import alert
from crawling.installation.pools import capacity_of, pool_of
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Run, RunProcess
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.orders.claims import BROWSER_PAGES, NO_BROWSER
from crawling.runs.extensions import missing_extensions_sentence
from crawling.runs.grants import register_processes, request_shifts
from crawling.runs.seed_checks import NO_CONTACT, is_contact_missing, valid_addresses
from crawling.web.addresses import canonical_address


def start_run(crawl: CrawlJob, *, by: User | None = None) -> Run:
    """Start a run: queue its seeds, and request the first shifts of its processes.

    Raises TooManyWait. Raises WrongState if a run of this crawl has not ended yet, or if no contact
    is set although a seed is a public site, which can happen after an import.
    """
    if is_contact_missing(valid_addresses(crawl.seeds)):
        raise WrongState(f"A contact {NO_CONTACT}")
    run = create_run(crawl, by=by)
    register_processes(run)
    request_shifts(run)
    return run


def check_start_limit() -> None:
    """Raise TooManyWait if no further run may be started.

    Simultaneous starts may exceed the limit a little, since it only protects the database from
    overload.
    """
    latest = Run.objects.filter(is_latest=True)
    queued = latest.filter(state=RunState.QUEUED).count()
    begun = latest.filter(state=RunState.RUNNING, processes__bank_process__is_waiting=True)
    waiting = queued + begun.distinct().count()
    if waiting >= settings.CRAWLS_WAITING_MAX:
        raise TooManyWait(
            f"{waiting:,} of at most {settings.CRAWLS_WAITING_MAX:,} crawls are queued or wait for "
            "resources (CRAWLS_WAITING_MAX). Start this one later, or stop some of them."
        )


@transaction.atomic
def create_run(crawl: CrawlJob, *, by: User | None, by_schedule: bool = False) -> Run:
    """Create a run with its processes and seeds. The caller registers the processes in the pool
    once this is committed.

    by_schedule: a schedule, which `by` set, starts the run. Raises WrongState, TooManyWait.
    """
    check_start_limit()
    if missing := missing_extensions_sentence(crawl.visit_order, crawl.seeds):
        raise WrongState(f"{crawl.name} cannot start. {missing}")
    if crawl.order.rendering.may_render and not capacity_of(pool_of(crawl)).get(BROWSER_PAGES):
        raise WrongState(f"{crawl.name} cannot start. It {NO_BROWSER}.")
    spent = CrawlJob.objects.select_for_update(no_key=True).get(pk=crawl.pk).spent_numbers
    latest = crawl.runs.first()
    if latest and latest.state not in ENDED_STATES:
        raise WrongState(
            f"{crawl.name}: run {latest.number} is {latest.state}; wait for its end, or stop "
            "it, before starting another."
        )
    number = max(latest.number if latest else 0, spent) + 1
    crawl.runs.filter(is_latest=True).update(is_latest=False)
    run = Run.objects.create(
        crawl=crawl,
        number=number,
        reason="Waiting for a worker.",
        judged_by=rules_key(crawl),
    )
    RunProcess.objects.bulk_create(
        RunProcess(run=run, number=number) for number in range(crawl.process_limit or 1)
    )
    record_action(
        by,
        crawl,
        "started by its schedule" if by_schedule else "started",
        {"run": (latest.number if latest else None, run.number)},
    )
    whom = "its schedule" if by_schedule else by or "the command line"
    write(run.pk, f"Run {run.number} started by {whom}.")
    if latest:
        copy_decisions(latest, run)
    with locked_run(run.pk) as locked:
        seeds = [Candidate(canonical_address(seed), depth=0, via=None) for seed in crawl.seeds]
        alert(run, AlertEvent.STARTED, f"Run {run.number} started by {whom}.")
        scheduled = schedule_urls(locked, seeds, numbers=serving_process_numbers(run.pk))
        count_seeds(run.pk, scheduled.new)
    return run
