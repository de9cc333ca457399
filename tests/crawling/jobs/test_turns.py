"""An idle job is behind shifts. It hurries for whoever needs what it holds, but not for another
idle job.
"""

from __future__ import annotations

import os
import time
import traceback
from uuid import uuid4

import pytest
from django.db import connections

from allocation.models import RequestKind
from allocation.services import register_process, request_resources
from crawling.datasets.jobs import SECOND_READING
from crawling.jobs import turns
from crawling.jobs.turns import idle_turn
from crawling.machine.cpu_affinity import GROUP, IDLE_NICENESS
from crawling.uses.extraction.jobs import EXTRACTION
from tests.stack import background_queue

pytestmark = pytest.mark.skipif(
    not GROUP.exists(), reason="the system shares processors without sessions"
)
PATIENCE_SECONDS = 20


@pytest.fixture
def come(transactional_db, pool, monkeypatch):
    """How one comes whom the idle job gives way to, by who it is."""
    for name, seconds in {"LOOK_SECONDS": 0.1, "TURN_SECONDS": 0.0, "WAIT_SECONDS": 30.0}.items():
        monkeypatch.setattr(turns, name, seconds)

    def crawl():
        units = {"memory": 512}
        one = register_process(pool=pool.pk, label="c", run_ref="x", maximum=units).pk
        request_resources(process=one, amounts=units, request_id=uuid4(), kind=RequestKind.START)

    with background_queue():
        yield {
            "a user": lambda: EXTRACTION.job.enqueue(1),
            "a crawl": crawl,
            "an idle job": lambda: SECOND_READING.job.enqueue(1),
        }


@pytest.mark.parametrize(
    ("who", "niceness"), [("a user", 0), ("a crawl", 0), ("an idle job", IDLE_NICENESS)]
)
def test_a_page_is_hurried_for_users_and_crawls_and_not_for_idle_jobs(come, who, niceness):
    def page_of_an_idle_job():
        with idle_turn("test", label="test", mebibytes=64) as turn:
            assert reached(IDLE_NICENESS)
            come[who]()
            assert happens(lambda: not turn.goes_on())
            # a user who came between the two questions of one look is seen by the next
            assert happens(lambda: (turn.seconds_left() < turns.STEP_SECONDS) == (niceness == 0))
            assert reached(niceness)
        assert reached(0)

    assert work_process(page_of_an_idle_job) == 0


def work_process(job):
    """The exit status of one that does the job, whose worker has a session of its own."""
    connections.close_all()
    if (worker := os.fork()) == 0:
        status = 1
        try:
            os.setsid()
            if os.fork() == 0:
                job()
                status = 0
            else:
                status = os.waitstatus_to_exitcode(os.wait()[1])
        except BaseException:
            traceback.print_exc()  # the test that fails shows it
            raise
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])


def reached(niceness):
    return happens(lambda: GROUP.read_text().split()[-1] == str(niceness))


def happens(seen):
    until = time.monotonic() + PATIENCE_SECONDS
    while not seen() and time.monotonic() < until:
        time.sleep(0.02)  # the thread that looks changes it, beside this one
    return seen()
