"""A collection as one WACZ file: each capture of each member once, given out to those who may act
on all of it, and no more once something of it is deleted or taken down.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from io import BytesIO, StringIO
from random import Random

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from warcio.archiveiterator import ArchiveIterator

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, CrawlJob, Page, Run, Team
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.teams import set_team_rule
from crawling.runs.housekeeping.run_removal import remove_run
from crawling.runs.start import start_run
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
    remove_members,
)
from crawling.uses.collections.jobs import file_of, readable_file, request_file
from crawling.uses.collections.restoring import delete_collection
from crawling.uses.withdrawals.withdrawing import undo_withdrawal, withdraw_pages
from tests.crawling.conftest import do_shifts, order_of
from tests.crawling.pages import browser, log_in, soup
from tests.crawling.uses.exports.wacz.test_wacz_file import (
    index_of,
    listed,
    opened,
    records_of,
    whole,
)

#: so long that a second run refers to it
LONG = Random(7).randbytes(600).hex()


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {"/": "<title>Home</title><a href=/a>a</a>", "/a": f"<title>A book</title>{LONG}"}
    )


@pytest.fixture(scope="module")
def crawled(site, crawl_once, shared):
    """Two runs of a crawl, the second of which refers to payloads of the first, and one of another
    crawl, which has another text at the same address. The run is the first.
    """
    run = crawl_once(f"{site.url}/", name="Books")

    def others() -> None:
        do_shifts(start_run(run.crawl))
        site.pages["/a"] = "<title>Another book</title>two"
        do_shifts(start_run(create_crawl(order_of(f"{site.url}/", name="Others"))))

    shared.do(others)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def single(run):
    """A page of the other crawl."""
    return Page.objects.get(run__crawl__name="Others", url__url__endswith="/a")


@pytest.fixture
def collection(run, single):
    fields = CollectionFields("Town library", "All its\nsites")
    made = create_collection(fields, by=None)
    add_members(made, crawls=[run.crawl_id], pages=[single.pk], by=None)
    return made


def made(collection):
    run_job(request_file(collection, by=None).pk)
    state = file_of(collection)
    assert state.file, state.trouble
    return state.file


def rest_files() -> list[str]:
    return list(storage().list("collection-wacz0"))


def test_the_file_has_each_capture_of_each_crawl_and_each_page(run, single, collection):
    package = opened(made(collection))

    index = index_of(package)
    whole = Page.objects.filter(run__crawl=run.crawl_id)
    wanted = [*whole.values_list("url__url", flat=True), single.url.url]
    assert sorted(facts["url"] for _, facts in index) == sorted(wanted)
    assert [key for key, _ in index] == sorted(key for key, _ in index)
    for _, facts in index:
        file = package.read(f"archive/{facts['filename']}")
        at = int(facts["offset"])
        record = next(iter(ArchiveIterator(BytesIO(file[at : at + int(facts["length"])]))))
        assert record.rec_headers.get_header("WARC-Target-URI") == facts["url"]
    pages = listed(package, "pages")[1:] + listed(package, "extraPages")[1:]
    assert {one["title"] for one in pages} == {"Home", "A book", "Another book"}
    about = json.loads(package.read("datapackage.json"))
    assert (about["title"], about["description"]) == ("Town library", "All its\nsites")
    assert about["wacz_version"] == "1.1.1"
    assert {one["path"] for one in about["resources"]} == {
        name for name in package.namelist() if not name.startswith("datapackage")
    }


@pytest.mark.drill
def test_the_wacz_tool_finds_it_valid(collection, tmp_path):
    tool = shutil.which("wacz")
    if not tool:
        pytest.skip("`pip install wacz` in an environment of its own, and put it on the PATH")
    path = tmp_path / "all.wacz"
    path.write_bytes(whole(made(collection)))

    checked = subprocess.run(
        [tool, "validate", "-f", str(path)], capture_output=True, text=True, check=False
    )

    assert "is valid" in checked.stdout
    assert checked.returncode == 0


def test_a_single_page_of_the_collection_has_its_payload_though_another_run_has_it(run, collection):
    remove_members(collection, collection.members.values_list("pk", flat=True), by=None)
    later = Page.objects.get(run__crawl=run.crawl_id, run__number=2, url__url__endswith="/a")
    assert later.is_revisit
    add_members(collection, pages=[later.pk], by=None)

    package = opened(made(collection))

    assert f"<title>A book</title>{LONG}".encode() in records_of(package)
    assert sorted(facts["mime"] for _, facts in index_of(package)) == ["text/html", "warc/revisit"]
    assert b"<title>Home</title>" not in records_of(package)


def test_a_page_of_a_crawl_that_is_in_it_is_packed_once(run, collection):
    page = Page.objects.get(run=run, url__url__endswith="/a")
    add_members(collection, pages=[page.pk], by=None)

    index = index_of(opened(made(collection)))

    places = [(one["filename"], one["offset"]) for _, one in index if one["url"] == page.url.url]
    assert len(places) == len(set(places)) == 3


def test_the_file_is_old_once_members_come_or_go_and_a_new_one_takes_its_place(run, collection):
    first = made(collection)
    assert not file_of(collection).is_outdated
    member = collection.members.get(page=None)

    remove_members(collection, [member.pk], by=None)

    assert file_of(collection).is_outdated
    second = made(collection)
    assert not BackgroundJob.objects.filter(pk=first.id).exists()
    assert (second.pages, len(rest_files())) == (1, 1)


def test_a_page_that_waits_for_the_file_looks_up_no_members_and_none_has_rows_of_runs(collection):
    made(collection)
    with CaptureQueriesContext(connection) as asked:
        assert not file_of(collection).is_outdated
    assert not [one["sql"] for one in asked if '"crawling_run"."state"' in one["sql"]]
    request_file(collection, by=None)

    with CaptureQueriesContext(connection) as asked:
        assert file_of(collection).under_way

    assert not [one["sql"] for one in asked if "collectionmember" in one["sql"]]


@pytest.mark.parametrize("of", ["crawl", "single"])
def test_a_page_that_is_taken_down_ends_the_file_at_once(run, single, collection, of):
    made(collection)
    page = single if of == "single" else Page.objects.get(run=run, url__url__endswith="/a")
    crawl, its_run, text = page.run.crawl, page.run, page.url.url

    gone = withdraw_pages(crawl, its_run, kind="page", text=text, reason="asked", by=None)

    assert file_of(collection).file is None
    assert "taken down" in file_of(collection).trouble
    assert rest_files() == []
    left = records_of(opened(made(collection)))
    assert (b"Another book" in left) == (of == "crawl")
    undo_withdrawal(crawl, gone.pk, by=None)
    assert b"Another book" in records_of(opened(made(collection)))


def test_a_deleted_run_ends_the_file_and_is_not_in_the_next(single, collection):
    made(collection)

    remove_run(single.run, by=None)

    assert file_of(collection).file is None
    assert b"Another book" not in records_of(opened(made(collection)))


def test_a_run_that_is_deleted_for_good_leaves_no_file_of_it(single, collection):
    made(collection)

    remove_run(single.run, by=None, for_good=True)

    assert rest_files() == []
    assert file_of(collection).file is None


def test_a_page_that_is_taken_down_while_it_is_packed_is_not_given_out(
    run, single, collection, monkeypatch
):
    from crawling.uses.collections import jobs

    store = jobs.store_package

    def stored(package, job):
        result = store(package, job)
        text = single.url.url
        withdraw_pages(
            single.run.crawl, single.run, kind="page", text=text, reason="asked", by=None
        )
        return result

    monkeypatch.setattr(jobs, "store_package", stored)

    run_job(request_file(collection, by=None).pk)

    state = file_of(collection)
    assert (state.file, rest_files()) == (None, [])
    assert "meanwhile" in state.trouble


def test_only_a_user_who_may_act_on_each_crawl_gets_the_file(run, single, collection):
    set_team_rule(own_crawls_only=True)
    client = browser("operator")
    ada = User.objects.get(username="operator")
    eve = User.objects.create_user("eve")
    eve.groups.set(ada.groups.all())
    made(collection)
    address = f"/collections/{collection.pk}/collection.wacz"
    assert client.get(address).status_code == 200

    CrawlJob.objects.filter(pk=single.run.crawl_id).update(created_by=eve)

    assert client.get(address).status_code == 403
    with pytest.raises(PermissionDenied, match="each of its crawls"):
        readable_file(collection, by=ada)
    with pytest.raises(PermissionDenied, match="each of its crawls"):
        request_file(collection, by=ada)
    assert browser("viewer").get(address).status_code == 403


def test_the_page_has_the_file_made_and_leads_to_it(collection):
    client, address = browser("operator"), f"/collections/{collection.pk}/wacz/"
    assert "Not created" in soup(client.get(address)).main.get_text()

    client.post(address)
    run_job(BackgroundJob.objects.latest("pk").pk)

    link = soup(client.get(address)).select_one("a[role=button][href$='.wacz']")
    answer = client.get(link["href"])
    content = b"".join(answer.streaming_content)
    assert len(content) == int(answer["Content-Length"]) == file_of(collection).file.bytes
    told = client.get(f"/api/v1/collections/{collection.pk}/wacz").json()
    assert (told["is_ready"], told["is_outdated"], told["pages"]) == (True, False, 5)
    exported = client.get(f"/api/v1/collections/{collection.pk}/wacz/export")
    assert b"".join(exported.streaming_content) == content


def test_the_command_writes_the_file(collection, tmp_path):
    place, out = tmp_path / "all.wacz", StringIO()

    call_command("crawl", "collection", "Town library", "--wacz", str(place), stdout=out)

    assert "5 pages" in out.getvalue()
    assert place.stat().st_size == file_of(collection).file.bytes


def test_a_collection_of_nothing_archived_has_no_file(db):
    empty = create_collection(CollectionFields("Empty"), by=None)

    with pytest.raises(ArchiveTrouble, match="Nothing of this collection"):
        request_file(empty, by=None)


def test_a_deleted_collection_leaves_no_file(collection):
    made(collection)

    delete_collection(collection, by=None)
    call_command("crawl", "list", stdout=StringIO())

    assert not BackgroundJob.objects.filter(kind="collection-wacz", is_forgotten=False).exists()


def test_a_file_under_way_has_a_button_for_those_who_may_cancel_it_and_no_others(run, collection):
    set_team_rule(own_crawls_only=True)
    clients = {role: browser(role) for role in ("operator", "administrator")}
    ada, group = User.objects.get(username="operator"), Group.objects.get(name="operator")
    eve, clients["eve"] = User.objects.create_user("eve"), Client()
    eve.groups.add(group)
    log_in(clients["eve"], eve)
    Team.objects.create(name="Press").members.add(ada, eve)
    CrawlJob.objects.update(team="Press")
    type(collection).objects.update(created_by=ada, team="Press")
    address, button = f"/collections/{collection.pk}/wacz/", "button[formaction$='/cancel/']"

    clients["operator"].post(address)

    offered = {who for who, one in clients.items() if soup(one.get(address)).select(button)}
    assert offered == {"operator", "administrator"}
    place = soup(clients["operator"].get(address)).select_one(button)["formaction"]
    assert clients["eve"].post(place).status_code == 403
    clients["operator"].post(place)
    assert file_of(collection).cancelled
