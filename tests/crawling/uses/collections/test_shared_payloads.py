"""A collection's WACZ file with pages whose payloads are in the archive of another crawl."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from crawling.base.storage import storage
from crawling.jobs.kinds import JobEvent
from crawling.jobs.removal import delete_jobs_after_event
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, CrawlJob, Page, Run
from crawling.runs.crawls.teams import set_team_rule
from crawling.runs.housekeeping.deletion import restore_run
from crawling.uses.collections.changes import CollectionFields, add_members, create_collection
from crawling.uses.collections.jobs import file_of, readable_file, request_file
from crawling.uses.exports.jobs import MIRROR, WACZ
from crawling.uses.exports.state import readable_export, request_export
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser
from tests.crawling.uses.exports.wacz.test_wacz_file import index_of, opened, records_of

LONG = Random(3).randbytes(600).hex()


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve({"/a": LONG, "/d": LONG})
    return [crawl_once(f"{site.url}/{path}", name=path, deduplicate="all") for path in ("a", "d")]


@pytest.fixture
def sharing(crawled, db):
    """A run, and one of another crawl with a payload in its archive."""
    runs = [Run.objects.get(pk=run.pk) for run in crawled]
    assert [Page.objects.get(run=run).is_revisit for run in runs] == [False, True]
    return runs


@pytest.fixture(params=["page", "crawl"])
def collection(sharing, request):
    """The crawl that refers to the other, or its page alone."""
    second = sharing[1]
    made = create_collection(CollectionFields("Town library"), by=None)
    whole = request.param == "crawl"
    crawls, pages = ([second.crawl_id], []) if whole else ([], [Page.objects.get(run=second).pk])
    add_members(made, crawls=crawls, pages=pages, by=None)
    return made


def made(collection):
    run_job(request_file(collection, by=None).pk)
    state = file_of(collection)
    assert state.file, state.trouble
    return state.file


def test_who_may_create_the_file_may_download_it(sharing, collection):
    set_team_rule(own_crawls_only=True)
    browser("operator")
    ada, eve = User.objects.get(username="operator"), User.objects.create_user("eve")
    first, second = sharing
    CrawlJob.objects.filter(pk=first.crawl_id).update(created_by=eve)
    CrawlJob.objects.filter(pk=second.crawl_id).update(created_by=ada)

    run_job(request_file(collection, by=ada).pk)

    state = readable_file(collection, by=ada)
    assert LONG.encode() in records_of(opened(state.file))


@pytest.mark.parametrize("collection", ["page"], indirect=True)
def test_a_page_is_packed_without_a_payload_that_is_deleted(sharing, collection):
    Run.objects.filter(pk=sharing[0].pk).update(
        removal_asked_at=now(), restorable_until=now() + timedelta(days=1)
    )

    package = opened(made(collection))

    assert LONG.encode() not in records_of(package)
    assert [facts["mime"] for _, facts in index_of(package)] == ["warc/revisit"]


@pytest.mark.parametrize("collection", ["page"], indirect=True)
def test_a_file_without_a_payload_is_outdated_once_that_is_restored(sharing, collection):
    Run.objects.filter(pk=sharing[0].pk).update(
        removal_asked_at=now(), restorable_until=now() + timedelta(days=1)
    )
    made(collection)
    assert not file_of(collection).is_outdated

    restore_run(sharing[0].pk, by=None)

    assert file_of(collection).is_outdated
    assert LONG.encode() in records_of(opened(made(collection)))
    assert not file_of(collection).is_outdated


def take_down_page_of(run):
    text = Page.objects.get(run=run).url.url
    withdraw_pages(run.crawl, run, kind="page", text=text, reason="asked", by=None)


def test_a_payload_that_is_taken_down_leaves_no_copy_in_the_file(sharing, collection):
    made(collection)
    assert list(storage().list("collection-wacz0"))

    take_down_page_of(sharing[0])

    assert list(storage().list("collection-wacz0")) == []
    assert "taken down" in file_of(collection).trouble
    assert LONG.encode() not in records_of(opened(made(collection)))


def test_a_payload_that_is_deleted_for_good_ends_the_file(sharing, collection):
    file = made(collection)

    delete_jobs_after_event(JobEvent.DELETED, [sharing[0].pk])

    assert BackgroundJob.objects.get(pk=file.id).is_forgotten


@pytest.mark.parametrize("kind", [WACZ, MIRROR])
def test_a_payload_that_is_taken_down_leaves_no_copy_in_the_export_of_another_run(sharing, kind):
    first, second = sharing
    run_job(request_export(second, kind).pk)
    folder = f"{kind.name}{second.pk}"
    assert readable_export(second, kind)
    assert list(storage().list(folder))

    take_down_page_of(first)

    assert list(storage().list(folder)) == []
    assert readable_export(second, kind) is None
