"""A crawl on idle capacity uses what no other process waits for, and returns it within 5 s."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from allocation.models import Event, Process, Request, RequestState
from allocation.services import set_capacity
from crawling.base.errors import WrongState
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.fetching.shift import ending_policy, work
from crawling.jobs.rq_jobs import live_workers
from crawling.models import RunProcess, Shift, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.shift_lifecycle import begin_shift, end_shift, settle_ended_shift
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from crawling.scheduler.duties import IdleCapacity, start_due_crawls
from tests.crawling.conftest import granted_starts
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

SEED = "http://127.0.0.1:8900/"


@pytest.fixture
def start(order, pool):
    """Return a function that starts a crawl by name, in a pool of one worker."""
    set_capacity(pool=pool.pk, capacity={"worker": 1})

    def started(name, **fields):
        return start_run(create_crawl({**order(SEED, **fields), "name": name}))

    return started


def begin_granted():
    """Begin the shifts that were granted, as workers would."""
    for bank, epoch in granted_starts():
        Process.objects.filter(pk=bank).update(worker="w")
        begin_shift(RunProcess.objects.get(bank_process=bank), epoch=epoch, worker="w")


def end(run):
    """End the run's shift, as its worker would, with all its URLs untried."""
    process = run.processes.get()
    shift = Shift.objects.get(process=process, ended_at=None)
    end_shift(shift, "its slice was over")
    settle_ended_shift(process, epoch=shift.epoch, worker="w")


def holders():
    return set(Process.objects.filter(holding=True).values_list("label", flat=True))


def waiting():
    found = Request.objects.filter(state=RequestState.WAITING)
    return set(found.values_list("process__label", flat=True))


def test_it_starts_when_nobody_waits_and_enough_is_free(start):
    start("spare", idle_only=True)
    assert holders() == set()  # only the scheduler starts it

    IdleCapacity().start_idle_crawls()

    assert holders() == {"spare"}


def test_it_stands_in_no_line_while_others_hold_what_it_needs(start):
    start("busy")
    spare = start("spare", idle_only=True)
    start_due_crawls()
    IdleCapacity().start_idle_crawls()

    assert holders() == {"busy"}
    assert not Request.objects.filter(process__run_process__run=spare).exists()
    view = crawl_view(spare.crawl)
    assert view.state == "waiting"
    assert view.reason == "The pool default lacks 1 worker. This crawl uses idle capacity only."


def test_it_does_not_start_while_another_waits_even_if_its_own_units_are_free(start, pool):
    set_capacity(pool=pool.pk, capacity={"worker": 2, "fetch_slots": 10})
    start("first", claim={"fetch_slots": 10})
    begin_granted()
    big = start("big", claim={"fetch_slots": 10, "bandwidth": pool.capacity[2]})
    assert waiting() == {"big"}, big.reason
    spare = start("spare", idle_only=True, claim={"bandwidth": 1})

    IdleCapacity().start_idle_crawls()

    assert holders() == {"first"}
    assert crawl_view(spare.crawl).reason.startswith("big in the pool default waits for resources.")


def test_crawls_on_idle_capacity_take_turns(start):
    one, two = (start(name, idle_only=True) for name in ("one", "two"))
    scheduler, seen = IdleCapacity(), []
    for _ in range(4):
        scheduler.start_idle_crawls()
        begin_granted()
        seen.append(*holders())
        end(one if seen[-1] == "one" else two)

    assert seen == ["one", "two", "one", "two"]


def test_an_edit_takes_it_out_of_the_line_and_back(start):
    start("busy")
    run = start("spare")
    assert waiting() == {"spare"}

    edit_crawl(run.crawl, {"idle_only": True})
    start_due_crawls()
    assert waiting() == set()

    edit_crawl(run.crawl, {"idle_only": False})
    start_due_crawls()
    assert waiting() == {"spare"}


def test_what_would_not_be_safe_is_not_requested_each_second(start, monkeypatch):
    monkeypatch.setattr("crawling.runs.idle_capacity.lack_of_idle_capacity", lambda crawl: "")
    start("busy")
    spare, scheduler = start("spare", idle_only=True), IdleCapacity()

    for _ in range(3):
        scheduler.start_idle_crawls()

    requests = Request.objects.filter(process__run_process__run=spare)
    assert [request.state for request in requests] == [RequestState.CANCELLED]


def test_nothing_stays_reserved_for_it_when_it_is_paused(start):
    run = start("spare", idle_only=True)

    with pytest.raises(WrongState, match="uses idle capacity only, so nothing is reserved for it"):
        pause(run.crawl, keep_seconds=600)

    assert pause(run.crawl).state == "paused"


@pytest.fixture
def slow(make_site):
    """A site whose page /slow comes when it is let go."""
    let_go = threading.Event()

    def page(_request):
        let_go.wait(60)
        return 200, {"Content-Type": "text/html"}, "at last"

    site = make_site({"/": links("/slow"), "/slow": page})
    site.let_go = let_go
    yield site
    let_go.set()


def test_what_it_was_fetching_when_it_gave_way_was_no_try(slow, order, work_off, monkeypatch):
    monkeypatch.setattr(ending_policy, "YIELD_SECONDS", 0.2)
    monkeypatch.setattr(work, "LOOK_SECONDS", 0.1)
    run = start_run(create_crawl(order(f"{slow.url}/", archive=False, idle_only=True)))
    monkeypatch.setattr(
        "crawling.fetching.shift.grants.ShiftGrants.others_wait", lambda self: "/slow" in slow.paths
    )
    IdleCapacity().start_idle_crawls()

    work_off(run, until=lambda run: Shift.objects.filter(process__run=run).exclude(ended_at=None))

    page = Url.objects.get(run=run, url__endswith="/slow")
    assert (page.state, page.attempts) == ("q", 0)


@pytest.mark.drill
@pytest.mark.timeout(300)
def test_another_crawl_has_its_units_within_5_seconds(
    transactional_db, slow, make_site, order, pool, tmp_path
):
    set_capacity(pool=pool.pk, capacity={"worker": 1})
    spare = start_run(create_crawl(order(f"{slow.url}/", idle_only=True, name="spare")))
    other = make_site({"/": "here"}, address="127.0.1.9")

    with running_stack(tmp_path) as stack:
        stack.start(SCHEDULER)
        stack.start(WORKER)
        wait_until(lambda: "/slow" in slow.paths)
        began = time.monotonic()
        run = start_run(create_crawl(order(f"{other.url}/", name="other")))
        bank = run.processes.get().bank_process_id
        wait_until(lambda: Process.objects.filter(pk=bank, holding=True).exists())
        waited = time.monotonic() - began
        slow.let_go.set()
        wait_until(lambda: type(spare).objects.get(pk=spare.pk).state == "finished")

    print(f"the other crawl had its units after {waited:.1f} s")
    assert waited < 5
    assert Event.objects.filter(kind="granted", process=bank).exists()
    assert Url.objects.get(run=spare, url__endswith="/slow").state == "s"


@pytest.mark.drill
@pytest.mark.timeout(300)
@pytest.mark.parametrize("victim", ["worker", "work process", "worker and work process"])
def test_units_of_what_was_killed_are_back_within_5_seconds_of_a_wait(
    victim, transactional_db, slow, make_site, order, pool, tmp_path
):
    """The lease would return them after a minute."""
    claim = {"bandwidth": pool.capacity[2]}  # each needs all of it
    fields = order(f"{slow.url}/", idle_only=True, name="spare", claim=claim)
    spare = start_run(create_crawl(fields))
    other = make_site({"/": "here"}, address="127.0.1.9")

    with running_stack(tmp_path) as stack:
        stack.start(SCHEDULER)
        worker = stack.start(WORKER)
        wait_until(lambda: "/slow" in slow.paths)
        stack.start(WORKER)
        wait_until(lambda: live_workers() == 2)
        pids = {"worker": worker.pid, "work process": work_process_of(worker).pid}
        began = time.monotonic()
        run = start_run(create_crawl(order(f"{other.url}/", name="other", claim=claim)))
        for number in (signal.SIGSTOP, signal.SIGKILL):  # neither sees the other die
            for name, pid in pids.items():
                if name in victim:
                    os.kill(pid, number)
        bank = run.processes.get().bank_process_id
        wait_until(lambda: Process.objects.filter(pk=bank, holding=True).exists())
        waited = time.monotonic() - began
        slow.let_go.set()
        wait_until(lambda: type(spare).objects.get(pk=spare.pk).state == "finished")

    print(f"{victim}: the other crawl had its units after {waited:.1f} s")
    assert waited < 5
    assert Url.objects.get(run=spare, url__endswith="/slow").state == "s"
