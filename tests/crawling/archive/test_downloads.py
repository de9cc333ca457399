"""Pages as files: one, a filter's result, all of a run; whole by themselves, and never half of one
that looks whole.
"""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from io import BytesIO, StringIO

import pytest
from django.urls import reverse
from warcio.archiveiterator import ArchiveIterator

from crawling.archive.selection import warc_of
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.pages.downloads import rows_file, warc_file
from crawling.dashboard.pages.filter import PageFilter, in_time
from crawling.models import Page, Run
from tests.crawling.archive.judging import files_of
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.pages import browser

SAME = "<title>=1+1</title>" + "the same, again and again; " * 10


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    paper = (200, {"Content-Type": "application/x-sh"}, b"rm -rf /")
    site = shared.serve(
        {
            "/": links("/first", "/copy", "/program", "/lost"),
            "/first": SAME,
            "/copy": SAME,
            "/program": paper,
        }
    )
    return crawl_once(f"{site.url}/", batch_size=1)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def address(run, name, *rest):
    return reverse(f"crawling:{name}", args=[run.crawl_id, *rest])


def checked(answer, tmp_path):
    """The records of a downloaded WARC file that warcio finds nothing wrong with: kinds and
    paths.
    """
    path = tmp_path / "downloaded.warc.gz"
    path.write_bytes(b"".join(answer.streaming_content))
    check = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (check.returncode, check.stdout) == (0, "")
    with path.open("rb") as file:
        return [
            (one.rec_type, (one.rec_headers.get_header("WARC-Target-URI") or "").rpartition("/")[2])
            for one in ArchiveIterator(file)
        ]


def test_all_of_a_run_is_one_warc_file_that_warcio_finds_right(run, tmp_path):
    answer = browser("operator").get(address(run, "pages-records"))

    records = checked(answer, tmp_path)

    assert answer["Content-Length"] == str((tmp_path / "downloaded.warc.gz").stat().st_size)
    assert [path for kind, path in records if kind in ("response", "revisit")] == [
        "robots.txt",
        "",
        "first",
        "copy",
        "program",
        "lost",
    ]


def test_a_copy_comes_with_the_record_that_has_its_payload(run, tmp_path):
    copy = Page.objects.get(run=run, is_revisit=True)
    original = {"first": "copy", "copy": "first"}[copy.url.url.rpartition("/")[2]]
    three = ["request", "metadata"]

    records = checked(browser("operator").get(address(run, "page-record", copy.pk)), tmp_path)

    assert [kind for kind, _ in records] == ["warcinfo", "response", *three, "revisit", *three]
    assert [path for _, path in records] == [
        "",
        *[original] * 3,
        *[copy.url.url.rpartition("/")[2]] * 3,
    ]


def test_a_filters_result_has_what_was_asked_for_and_no_more(run, tmp_path):
    operator = browser("operator")

    lost = checked(operator.get(address(run, "pages-records") + "?status=4xx"), tmp_path)
    same = checked(operator.get(address(run, "pages-records") + "?q=1%2B1"), tmp_path)

    assert {path for _, path in lost} == {"", "lost"}
    assert [path for kind, path in same if kind in ("response", "revisit")] == ["first", "copy"]


def test_rows_come_in_order_a_few_at_a_time_and_as_no_formula(run, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.pages.filter.CHUNK", 2)

    table = list(csv.DictReader(StringIO("".join(rows_file(run, PageFilter(), "csv").pieces))))
    lines = [json.loads(line) for line in rows_file(run, PageFilter("FIRST"), "jsonl").pieces]

    assert [row["url"].rpartition("/")[2] for row in table] == [
        "",
        "first",
        "copy",
        "program",
        "lost",
    ]
    assert table[1]["title"] == "'=1+1"
    assert [(line["status"], line["title"]) for line in lines] == [(200, "=1+1")]


def test_pages_of_the_same_moment_are_all_had(run, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.pages.filter.CHUNK", 2)
    Page.objects.update(fetched_at=run.started_at)

    assert len({page.pk for page in in_time(Page.objects.filter(run=run))}) == 5


def test_the_document_itself_is_had_as_a_file_that_nothing_opens(run):
    answer = browser("operator").get(
        address(run, "page-document", Page.objects.get(url__url__endswith="/program").pk)
    )

    assert (answer.content, answer["Content-Type"]) == (b"rm -rf /", "application/octet-stream")
    assert answer["Content-Disposition"] == 'attachment; filename="program.sh"'


def test_a_file_that_is_gone_is_told_before_anything_is_sent(run):
    operator = browser("operator")
    files_of(run)[0].path.unlink()

    for name, *rest in (
        ("pages-records",),
        ("page-record", Page.objects.first().pk),
        ("page-document", Page.objects.first().pk),
    ):
        assert (
            "is not on this machine"
            in operator.get(address(run, name, *rest), follow=True).content.decode()
        )


def test_a_file_that_lacks_its_end_breaks_off_rather_than_look_whole(run):
    (file,) = files_of(run)
    file.path.write_bytes(file.path.read_bytes()[:-20])
    last = (
        Page.objects.select_related("url", "run", "archive_file")
        .order_by("-archive_offset")
        .first()
    )
    file.path.write_bytes(file.path.read_bytes()[: last.archive_offset + 10])

    with pytest.raises(ArchiveTrouble, match="lacks"):
        b"".join(warc_file(run, PageFilter()).pieces)
    with pytest.raises(ArchiveTrouble):
        b"".join(warc_of([last], name="x", facts={}))


def test_programs_have_the_same_files(run, tmp_path):
    operator, viewer = browser("operator"), browser("viewer")
    page = Page.objects.get(url__url__endswith="/first")
    root = f"/api/v1/crawls/{run.crawl_id}/pages"

    rows = b"".join(viewer.get(f"{root}/export?format=csv&status=404").streaming_content).decode()
    one = b"".join(operator.get(f"{root}/{page.pk}/warc").streaming_content)

    assert [row["status"] for row in csv.DictReader(StringIO(rows))] == ["404"]
    assert b"the same" in gzip.decompress(one)
    assert len(list(ArchiveIterator(BytesIO(one)))) == 4
    assert ("response", "lost") in checked(operator.get(f"{root}/warc?status=404"), tmp_path)
    assert (
        viewer.get(f"{root}/warc").status_code
        == viewer.get(f"{root}/{page.pk}/warc").status_code
        == 403
    )
