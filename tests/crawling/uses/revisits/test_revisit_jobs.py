"""The revisits of a crawl are planned with a grant of the memory that its pages take."""

from __future__ import annotations

from uuid import uuid4

import pytest

from allocation.models import Process, ProcessState, RequestKind
from allocation.services import finish_process, register_process, request_resources
from crawling.jobs.enqueue import open_job
from crawling.jobs.running import run_job
from crawling.jobs.temporary_grant import NoUnits
from crawling.models import PlannedRevisit
from crawling.uses.revisits import jobs
from crawling.uses.revisits.jobs import LEAST_MIB, REVISITS, memory_mebibytes_of_crawl


@pytest.fixture
def crawl(make_site, crawl_to_the_end):
    return crawl_to_the_end(f"{make_site({'/': 'a page'}).url}/", visits_a_day=3).crawl


@pytest.fixture
def holds_all(pool):
    """Another process, which holds all the memory there is."""
    maximum = {"memory": 512}
    one = register_process(pool=pool.pk, label="c", run_ref="x", maximum=maximum).pk
    request_resources(process=one, amounts=maximum, request_id=uuid4(), kind=RequestKind.START)
    return one


def test_it_is_planned_once_memory_is_granted(crawl, holds_all, monkeypatch):
    monkeypatch.setattr(jobs, "WAIT_SECONDS", 0.1)

    planned = open_job(REVISITS, crawl.runs.get(), by=None)
    assert run_job(planned.pk) == str(NoUnits())
    planned.refresh_from_db()
    assert (planned.state, planned.waits) == ("waiting", str(NoUnits()))
    assert not PlannedRevisit.objects.exists()

    finish_process(process=holds_all)
    assert run_job(planned.pk) == "planned"
    assert PlannedRevisit.objects.get().crawl == crawl
    assert not Process.objects.filter(run_ref__startswith="moment/", state=ProcessState.ACTIVE)


@pytest.mark.parametrize(
    ("mebibytes", "holds"), [(100, LEAST_MIB + 100), (4096, 512)], ids=["more", "all there is"]
)
def test_it_holds_more_for_more_pages(crawl, monkeypatch, mebibytes, holds):
    assert memory_mebibytes_of_crawl(crawl.pk) == LEAST_MIB
    monkeypatch.setattr(jobs, "BYTES_OF_A_PAGE", mebibytes * 2**20)
    assert memory_mebibytes_of_crawl(crawl.pk) == holds
