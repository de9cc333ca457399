"""AC8 with real workers: killed or stopped at each step of giving back and writing; nothing is
lost, and a ghost changes nothing.
"""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from allocation.models import Conservation, Event, EventKind, Process
from crawling.models import Host, Page, Run, Shift, Url
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.fetching.shift.halting import STEPS
from tests.crawling.runs.test_kill import ladder
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

PAGES = 60
HALTING_WORKER = [*WORKER[:4], "tests.crawling.fetching.shift.halting.HaltingWorker", *WORKER[5:]]
ENDING = [step for step in STEPS if "pages" not in step]
#: three for every push; all of them in the drill
SMALL = {
    ("work process", "after the call"),
    ("both", "after the lock"),
    ("work process", "while the run leaves"),
}
LOSSES = [
    pytest.param(victim, step, marks=[] if (victim, step) in SMALL else pytest.mark.drill)
    for victim in ("work process", "parent", "both")
    for step in ENDING
]


@pytest.fixture
def halted_crawl(transactional_db, make_site, order, tmp_path, monkeypatch):
    """Return a function that yields a stack, its worker and the work process that stopped at a
    step, in the middle of a crawl.
    """
    site = make_site(ladder(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=20, delay_seconds=0.04)))
    mark = tmp_path / "halted"
    with running_stack(
        tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3", HALTED=str(mark)
    ) as stack:

        def halt(step: str):
            stack.env["HALT_AT"] = step
            stack.start(SCHEDULER)
            worker = stack.start(HALTING_WORKER)
            wait_until(
                lambda: (
                    mark.exists()
                    and work_process_of(worker)
                    and work_process_of(worker).status() == psutil.STATUS_STOPPED
                ),
                seconds=90,
            )
            return stack, run, site, worker, psutil.Process(work_process_of(worker).pid)

        yield halt
        for child in [
            child
            for process in stack.processes
            if process.poll() is None
            for child in psutil.Process(process.pid).children()
        ]:
            # a worker waits for its work process, however long that stands still
            child.send_signal(signal.SIGCONT)


def everything_is_there_once(run, site):
    assert set(Url.objects.filter(run=run).values_list("url", "state")) == {
        (f"{site.url}{path}", "s") for path in site.pages
    }
    assert Page.objects.filter(run=run).count() == PAGES
    assert not Process.objects.filter(holding=True).exists()
    assert not Host.objects.exclude(shift=None).exists()
    assert not [row for row in Conservation.objects.all() if row.difference or row.ungranted]


def has_ended(run):
    return Run.objects.get(pk=run.pk).state in ENDED_STATES


@pytest.mark.parametrize(("victim", "step"), LOSSES)
def test_kill_at_any_step_of_giving_back_loses_nothing(halted_crawl, victim, step):
    """Where the parent is the victim, the kernel ends the work process too: a stopped process group
    without a parent gets SIGHUP.
    """
    stack, run, site, worker, work_process = halted_crawl(step)

    if victim != "work process":
        worker.kill()
        worker.wait()
    if victim != "parent":
        os.kill(work_process.pid, signal.SIGKILL)
    if victim != "work process":
        stack.start(WORKER)
    wait_until(lambda: has_ended(run) and not Process.objects.filter(holding=True).exists())

    everything_is_there_once(run, site)


@pytest.mark.parametrize(
    "step",
    [
        "between two batches of pages",
        pytest.param("while it records pages", marks=pytest.mark.drill),
    ],
)
def test_what_a_shift_writes_that_was_stopped_past_its_lease_changes_nothing(halted_crawl, step):
    stack, run, site, _, work_process = halted_crawl(step)
    # shifts before it may have ended as they should; the only worker begins none after it
    lost = Shift.objects.filter(process__run=run).latest("epoch")
    stack.start(WORKER)
    wait_until(lambda: has_ended(run))
    lost.refresh_from_db()
    pages = set(Page.objects.filter(run=run).values_list("pk", flat=True))

    os.kill(work_process.pid, signal.SIGCONT)
    wait_until(lambda: not work_process.is_running())

    assert lost.ending.startswith("lost")
    # The shift asks the bank first whether the units are still its own, and so releases nothing.
    assert not Event.objects.filter(kind=EventKind.STALE, process__run_process__run=run).exists()
    assert set(Page.objects.filter(run=run).values_list("pk", flat=True)) == pages
    everything_is_there_once(run, site)
