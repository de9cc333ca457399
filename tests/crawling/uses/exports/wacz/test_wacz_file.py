"""A run as a WACZ file: whole, read from any byte on, without what is withdrawn."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from hashlib import sha256
from io import BytesIO, StringIO
from random import Random
from zipfile import ZIP_STORED, ZipFile

import pytest
from django.core.management import call_command
from django.db.models import F
from django.urls import reverse
from warcio.archiveiterator import ArchiveIterator

from crawling.archive.packages import wacz_index
from crawling.archive.packages.reading import read_package
from crawling.archive.packages.wacz_index import SortedLines, compressed_blocks, search_key
from crawling.base.storage import storage
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import end_job
from crawling.jobs.running import run_job
from crawling.models import ArchiveFile, BackgroundJob, Page, Run
from crawling.runs.housekeeping.run_removal import remove_run
from crawling.runs.start import start_run
from crawling.uses.exports.jobs import WACZ
from crawling.uses.exports.run_export import RunExport
from crawling.uses.exports.state import readable_export, request_export, state_of
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import (
    remove_records_now,
    undo_withdrawal,
    withdraw_pages,
)
from tests.crawling.pages import browser, soup

SECRET = "the secret of Mrs Miller"
SHARED = Random(7).randbytes(600).hex()
KEYS = {
    "https://www2.Example.org:8443/A?b=2&a=1": "org,example:8443)/a?a=1&b=2",
    "http://127.0.0.1:8000/": "1,0,0,127:8000)/",
    "http://[::1]:80/x": "[::1]:80)/x",
    "ftp://example.org/a": "ftp://example.org/a",
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {
            "/": "<title>Home ü</title>" + "".join(f'<a href="/{name}">x</a>' for name in "abm"),
            "/a": SHARED,
            "/b": SHARED,
            "/m": f"<title>{SECRET}</title>",
        }
    )


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/", batch_size=1)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def made(run) -> RunExport:
    run_job(request_export(run, WACZ).pk)
    row = readable_export(run, WACZ)
    assert row, BackgroundJob.objects.latest("pk").trouble
    return row


def whole(row) -> bytes:
    return b"".join(read_package(row, 0, row.bytes))


def opened(row) -> ZipFile:
    package = ZipFile(BytesIO(whole(row)))
    assert package.testzip() is None
    assert {one.compress_type for one in package.infolist()} == {ZIP_STORED}
    content = whole(row)
    for one in package.infolist():  # a player looks for the content behind the name
        begin = one.header_offset + 30 + len(one.filename.encode())
        assert content[begin : begin + one.file_size] == package.read(one)
    return package


def index_of(package) -> list[tuple[str, dict]]:
    """Key and facts of each line, in the order of the list of blocks."""
    packed, found = package.read("indexes/index.cdx.gz"), []
    begin, *places = package.read("indexes/index.idx").decode().splitlines()
    assert begin.startswith("!meta 0 ")
    for place in places:
        key, _, facts = place.partition(" {")
        at = json.loads("{" + facts)
        block = packed[at["offset"] : at["offset"] + at["length"]]
        assert at["digest"] == f"sha256:{sha256(block).hexdigest()}"
        lines = gzip.decompress(block).decode().splitlines()
        assert lines[0].startswith(key)
        found += [(line.partition(" {")[0], json.loads(line[line.index(" {") :])) for line in lines]
    return found


def listed(package, name):
    return [json.loads(line) for line in package.read(f"pages/{name}.jsonl").splitlines()]


def records_of(package) -> bytes:
    """All that the WARC files say, unpacked."""
    names = [name for name in package.namelist() if name.startswith("archive/")]
    return b"".join(gzip.decompress(package.read(name)) for name in names)


def test_a_package_has_the_records_an_index_lists_of_pages_and_their_hashes(site, run, monkeypatch):
    monkeypatch.setattr(wacz_index, "BLOCK_LINES", 2)
    package = opened(made(run))

    index = index_of(package)
    assert [key for key, _ in index] == sorted(key for key, _ in index)
    assert {facts["url"] for _, facts in index} == set(
        Page.objects.values_list("url__url", flat=True)
    )
    assert sorted(facts["mime"] for _, facts in index).count("warc/revisit") == 1
    for key, facts in index:
        file = package.read(f"archive/{facts['filename']}")
        at = int(facts["offset"])
        record = next(iter(ArchiveIterator(BytesIO(file[at : at + int(facts["length"])]))))
        assert record.rec_headers.get_header("WARC-Target-URI") == facts["url"]
        date = record.rec_headers.get_header("WARC-Date")
        assert key.split() == [search_key(facts["url"]), "".join(filter(str.isdigit, date))[:14]]
        assert record.http_headers.get_statuscode() == facts["status"] == "200"
    seeds, others = listed(package, "pages")[1:], listed(package, "extraPages")[1:]
    assert [one["title"] for one in seeds] == ["Home ü"]
    assert {one["title"] for one in others} == {"", SECRET}

    description = package.read("datapackage.json")
    resources = json.loads(description)["resources"]
    assert {one["path"]: (one["hash"], one["bytes"]) for one in resources} == {
        name: (f"sha256:{sha256(package.read(name)).hexdigest()}", len(package.read(name)))
        for name in package.namelist()
        if not name.startswith("datapackage")
    }
    digest = json.loads(package.read("datapackage-digest.json"))["hash"]
    assert digest == f"sha256:{sha256(description).hexdigest()}"


def test_only_what_is_not_in_the_archive_is_stored_and_any_part_can_be_read(run):
    row = made(run)
    content = whole(row)

    stored = storage().size(row.name)
    archived = sum(ArchiveFile.objects.values_list("committed_length", flat=True))
    assert (len(content), stored) == (row.bytes, row.bytes - archived)
    random = Random(3)
    for _ in range(200):
        begin, end = sorted(random.randrange(row.bytes + 1) for _ in "12")
        assert b"".join(read_package(row, begin, end)) == content[begin:end]


def test_payloads_in_archives_of_other_runs_are_in_it(site, crawl_to_the_end, work_off):
    second = work_off(start_run(crawl_to_the_end(f"{site.url}/", batch_size=1).crawl))
    package = opened(made(second))

    urls = [facts["url"] for _, facts in index_of(package) if facts["mime"] != "warc/revisit"]
    assert len(set(urls)) == 3  # one of two pages with the same payload has it
    assert SHARED.encode() in records_of(package)


def test_what_is_withdrawn_is_in_none_at_once_and_back_after_undoing(run):
    row = made(run)
    before = whole(row)
    assert SECRET.encode() in records_of(opened(row))

    withdrawal = withdraw_pages(run.crawl, None, kind="pattern", text="/m$", reason="x", by=None)

    assert readable_export(run, WACZ) is None
    assert "taken down since" in state_of(run, WACZ).trouble
    without = opened(made(run))
    assert SECRET.encode() not in records_of(without)
    assert SECRET not in str(listed(without, "extraPages"))
    assert {facts["url"][-1] for _, facts in index_of(without)} == {"/", "a", "b"}

    undo_withdrawal(run.crawl, withdrawal.pk, by=None)

    assert readable_export(run, WACZ) is None
    assert len(whole(made(run))) == len(before)
    withdrawal = withdraw_pages(
        run.crawl, None, kind="pattern", text="/m$", reason="x", by=None, at_once=True
    )
    remove_records(withdrawal.pk)
    assert readable_export(run, WACZ) is None
    assert SECRET.encode() not in records_of(opened(made(run)))


def test_a_payload_that_a_withdrawn_page_shares_stays_with_the_others(run):
    holder = Page.objects.get(url__url__endswith="/a")
    withdraw_pages(
        run.crawl, None, kind="page", text=holder.url.url, reason="x", by=None, at_once=True
    )
    remove_records(run.crawl.withdrawals.get().pk)

    package = opened(made(run))

    assert SHARED.encode() in records_of(package)
    assert {facts["url"][-1] for _, facts in index_of(package)} == {"/", "b", "m"}


def test_it_is_made_once_and_goes_with_its_run(run):
    first = request_export(run, WACZ)
    assert request_export(run, WACZ) == first
    run_job(first.pk)
    run_job(first.pk)
    second = made(run)

    assert [job.pk for job in BackgroundJob.objects.all()] == [second.id]
    assert list(storage().list(f"wacz{run.pk}")) == [second.name.partition("/")[2]]
    remove_run(run, by=None, for_good=True)
    assert not BackgroundJob.objects.exists()
    assert not storage().list(f"wacz{run.pk}")


def test_without_its_stored_part_or_an_archive_file_it_is_not_given_out(run):
    row = made(run)
    storage().delete(row.name)
    assert readable_export(run, WACZ) is None
    assert made(run) != row

    storage().delete(ArchiveFile.objects.get().stored_name)
    broken = open_job(WACZ, run, by=None)
    run_job(broken.pk)
    assert "is not on this machine" in BackgroundJob.objects.get(pk=broken.pk).trouble


def test_page_json_and_command_make_it_and_give_it_out(run, tmp_path):
    place, api = (
        reverse("crawling:wacz", args=[run.crawl_id]),
        f"/api/v1/crawls/{run.crawl_id}/wacz",
    )
    operator, viewer = browser("operator"), browser("viewer")
    assert "Not created." in soup(operator.get(place)).get_text()
    assert operator.get(f"{api}/export").status_code == 404
    assert viewer.post(place).status_code == 403

    operator.post(place)
    assert "waits for a background" in soup(operator.get(place)).get_text()
    assert operator.get(api).json()["is_under_way"]
    assert operator.post(api).status_code == 202
    run_job(BackgroundJob.objects.get().pk)
    name = f"crawl-{run.crawl_id}-run-1.wacz"
    assert name in soup(viewer.get(place)).get_text()
    facts = operator.get(api).json()
    assert (facts["is_ready"], facts["name"], facts["pages"]) == (True, name, 4)
    answer = operator.get(f"{api}/export")
    content = b"".join(answer.streaming_content)
    assert len(content) == facts["bytes"] == int(answer["Content-Length"])
    assert b"".join(operator.get(place.replace("wacz/", "run.wacz")).streaming_content) == content
    menu = soup(operator.get(f"/crawls/{run.crawl_id}/?overview")).select("#downloads button")
    order = next(one["formaction"] for one in menu if one.get_text() == "Archive (WACZ)")
    loads = soup(operator.post(order, follow=True)).select_one("a[data-loads]")["href"]
    assert b"".join(operator.get(loads).streaming_content) == content
    assert viewer.post(order).status_code == 403
    assert viewer.get(f"{api}/export").status_code == 403

    said = StringIO()
    output = tmp_path / "books.wacz"
    call_command("crawl", "wacz", str(run.crawl_id), "--output", str(output), "--json", stdout=said)
    assert json.loads(said.getvalue())["bytes"] == output.stat().st_size
    assert ZipFile(output).testzip() is None


def test_an_older_file_tells_its_time_and_does_not_load_by_itself(run):
    made(run)
    order, operator = f"{reverse('crawling:wacz', args=[run.crawl_id])}?load=1", browser("operator")
    ArchiveFile.objects.update(committed_length=F("committed_length") + 1)
    page = operator.post(order)["Location"]
    job = BackgroundJob.objects.get(ended_at=None)
    end_job(job, trouble="The disk is full.")

    failed = soup(operator.get(page))
    page = operator.post(order)["Location"]
    ArchiveFile.objects.update(committed_length=F("committed_length") - 1)
    run_job(BackgroundJob.objects.get(ended_at=None).pk)
    ArchiveFile.objects.update(committed_length=F("committed_length") + 1)
    ordered, unordered = soup(operator.get(page)), soup(operator.get(order))

    told = " ".join(failed.select_one("p[role=status]").text.split())
    assert "does not load by itself: it is of" in told
    assert "the run has archived more since" in told
    assert not failed.select("[data-loads], noscript iframe")
    assert not unordered.select("[data-loads], noscript iframe")
    assert len(ordered.select("[data-loads], noscript iframe")) == 2


@pytest.mark.parametrize(("url", "key"), KEYS.items())
def test_a_url_has_the_key_that_replay_programs_look_for(url, key):
    assert search_key(url) == key


def test_lines_are_sorted_whatever_their_number():
    words = [f"{number * 7919 % 1000:04}\n" for number in range(1000)]
    lines = SortedLines(most=64)
    for word in words:
        lines.add(word)

    assert [line.decode() for line in lines] == sorted(words)
    lines.close()


def test_a_block_of_the_index_has_a_bounded_number_of_lines_and_bytes():
    short, long = [b"a) 1 {}\n"] * 2500, [b"b) 1 {" + b"x" * 10**6 + b"}\n"] * 9

    unpacked = [gzip.decompress(block) for block, _ in compressed_blocks([*short, *long])]

    assert b"".join(unpacked) == b"".join([*short, *long])
    assert [block.count(b"\n") for block in unpacked] == [1024, 1024, 457, 4]


@pytest.mark.drill
def test_the_wacz_tool_finds_it_valid(run, tmp_path):
    tool = shutil.which("wacz")
    if not tool:
        pytest.skip("`pip install wacz` in an environment of its own, and put it on the PATH")
    path = tmp_path / "run.wacz"
    path.write_bytes(whole(made(run)))

    checked = subprocess.run(
        [tool, "validate", "-f", str(path)], capture_output=True, text=True, check=False
    )

    assert "is valid" in checked.stdout
    assert checked.returncode == 0


def test_a_file_that_another_machine_has_goes_with_the_records(run):
    path = storage().path(made(run).name)
    moved = path.rename(path.with_name("elsewhere"))

    withdraw_pages(run.crawl, None, kind="pattern", text="/m$", reason="x", by=None, at_once=True)
    moved.rename(path)
    remove_records(run.crawl.withdrawals.get().pk)

    assert not path.exists()
    assert "pages taken down since" in state_of(run, WACZ).trouble


def test_one_without_withdrawn_pages_goes_as_well_once_the_files_are_rewritten(run):
    withdrawal = withdraw_pages(run.crawl, None, kind="pattern", text="/m$", reason="x", by=None)
    row = made(run)

    remove_records_now(run.crawl, withdrawal.pk, by=None)
    remove_records(withdrawal.pk)

    assert storage().size(row.name) is None
    assert "were rewritten" in state_of(run, WACZ).trouble


def test_a_withdrawal_deletes_the_file_of_a_run_that_can_be_restored(run):
    row = made(run)
    remove_run(run, by=None)

    withdraw_pages(run.crawl, None, kind="pattern", text="/m$", reason="x", by=None)

    assert storage().size(row.name) is None


def test_a_withdrawal_deletes_the_file_and_says_why(run):
    row = made(run)
    assert storage().size(row.name) is not None

    withdraw_pages(run.crawl, None, kind="pattern", text="/m$", reason="x", by=None)

    assert storage().size(row.name) is None
    assert "pages taken down since" in state_of(run, WACZ).trouble
    assert readable_export(run, WACZ) is None
