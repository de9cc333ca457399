"""A shift asks for its archive writer with a document in hand, and that can neither hang nor lose
anything.
"""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connections

from allocation.models import Process, Request
from allocation.services import register_process, release_resources, request_resources, set_capacity
from crawling.fetching.shift import archive_stage
from crawling.models import Shift, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.web.statuses import FetchStatus
from tests.crawling.archive.judging import judge
from tests.crawling.conftest import granted_starts
from tests.crawling.fetching.pipeline.test_crawl_path import links

WRITER = {"archive_writers": 1}


@pytest.fixture
def hog(pool):
    """The only archive writer is another's; returns a function that gives it back."""
    set_capacity(pool=pool.pk, capacity=WRITER)
    process = register_process(pool=pool.pk, label="another", run_ref="", maximum=WRITER)
    request_resources(process=process.pk, amounts=WRITER, request_id=uuid4())
    process.refresh_from_db()
    granted_starts()  # no shift of ours is meant
    return lambda: release_resources(
        process=process.pk, epoch=process.epoch, release_id=uuid4(), amounts=None, reason="done"
    )


def stages(run):
    return list(Request.objects.filter(process__run_process__run=run, kind="stage").order_by("pk"))


def test_a_shift_holds_a_writer_from_its_first_document_to_its_end(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': links('/a'), '/a': 'x'}).url}/")

    (stage,) = stages(run)
    assert stage.state == "granted"
    assert not Process.objects.filter(holding=True).exists()


def test_a_crawl_without_an_archive_claims_no_writer(order):
    assert (
        create_crawl(order("http://127.0.0.1:8900/", archive=False)).claim["archive_writers"] == 0
    )
    assert create_crawl(order("http://127.0.0.1:8900/", name="other")).claim["archive_writers"] == 1


def test_documents_wait_for_a_writer_that_comes_free_in_time(make_site, order, work_off, hog):
    served = []

    def page(request):
        served.append(request.path)
        if len(served) == 5:
            hog()
            connections.close_all()  # of the web server's thread
        return 200, {"Content-Type": "text/html"}, links(*(f"/{n}" for n in range(10)))

    seeds = [
        make_site({f"/{n}": page for n in range(10)}, address=f"127.0.0.{n + 1}") for n in range(5)
    ]
    run = work_off(
        start_run(create_crawl(order(*(f"{site.url}/{n}" for n, site in enumerate(seeds)))))
    )

    (stage,) = stages(run)
    assert (stage.state, len(judge(run))) == ("granted", 50)
    assert len(served) == 50  # nothing was fetched twice


def test_where_no_writer_comes_free_each_url_is_told_so_and_tried_again(
    make_site, order, work_off, hog, monkeypatch
):
    """The links of each were found once before, by the same shift, and are told of all the same."""
    monkeypatch.setattr(archive_stage, "DEADLINE_SECONDS", 0.5)
    monkeypatch.setattr("crawling.web.politeness.FIRST_RETRY_SECONDS", 0.01)
    told = []

    def page(request):
        told.append(Url.objects.values_list("status", "error").get())
        if len(told) == 2:
            hog()
        connections.close_all()  # of the web server's thread
        return 200, {"Content-Type": "text/html"}, links("/a")

    run = work_off(start_run(create_crawl(order(f"{make_site({'/': page, '/a': 'x'}).url}/"))))

    assert told == [(None, ""), (FetchStatus.ARCHIVE_BUSY, FetchStatus.ARCHIVE_BUSY.sentence)]
    assert "granted" in {stage.state for stage in stages(run)}
    assert Shift.objects.count() == 1
    assert (run.state, len(judge(run))) == ("finished", 2)
