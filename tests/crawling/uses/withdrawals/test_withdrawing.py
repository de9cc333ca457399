"""A withdrawn page is shown nowhere at once, and later is in no file; all else stays as it was."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from warcio.archiveiterator import ArchiveIterator

from crawling.archive import rewriting
from crawling.archive.files import remove_abandoned
from crawling.archive.reader import original_of, page_with_content, record_of
from crawling.base.errors import BadOrder, CheckpointTrouble, NotFound, WrongState
from crawling.base.storage import DirectoryStorage
from crawling.datasets.catch_up import catch_up
from crawling.datasets.query import query_links
from crawling.models import (
    ArchiveFile,
    ExtractedRow,
    LinksPart,
    Page,
    Run,
    Shift,
    Withdrawal,
    WithdrawalFile,
    WithdrawnPage,
)
from crawling.runs.housekeeping.run_removal import removal_obstacle, remove_rows, remove_run
from crawling.runs.start import start_run
from crawling.uses.checkpoints.checkpoint_export import take_checkpoint
from crawling.uses.withdrawals import file_removal
from crawling.uses.withdrawals.file_removal import due_withdrawals, remove_records
from crawling.uses.withdrawals.withdrawing import (
    remove_records_now,
    undo_withdrawal,
    withdraw_pages,
    withdrawal_preview,
)
from tests.crawling.archive.judging import files_of, judge
from tests.crawling.pages import browser, soup

SECRET = "the secret of Mrs Miller"
SHARED = Random(5).randbytes(600).hex()
OTHER = Random(6).randbytes(600).hex()


def page(text: str, *paths: str) -> str:
    links = "".join(f'<a href="{path}">to {path}</a>' for path in paths)
    return f"<title>{text}</title><h2>{text}</h2>{links}"


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {
            "/": page("Home", "/miller", "/a", "/b", "/c"),
            "/miller": page(SECRET, "/from-miller"),
            "/a": SHARED,
            "/b": SHARED,
            "/c": SHARED,
            "/from-miller": page("Other"),
        }
    )


ORDER = {"batch_size": 1, "extract": {"heading": "h2"}}


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/", **ORDER)


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def taken_down(run, text, kind="page", *, only=None, at_once=True):
    asked = {"kind": kind, "text": text, "reason": "asked for", "by": None, "at_once": at_once}
    return withdraw_pages(run.crawl, only, **asked)


def bytes_of(run) -> bytes:
    """All that the files of a run have, unpacked."""
    return b"".join(
        record.raw_stream.read() + str(record.rec_headers.headers).encode()
        for file in files_of(run)
        for record in raw_records(file.path)
    )


def raw_records(path: Path):
    with path.open("rb") as stream:
        yield from ArchiveIterator(stream, no_record_parse=True)


def test_a_withdrawn_page_is_in_nothing_at_once_and_later_in_no_file(site, run):
    operator = browser("operator")
    catch_up(run.pk)
    gone, kept = Page.objects.get(url__url=f"{site.url}/miller"), Page.objects.exclude(title=SECRET)
    facts = {one.pk: (one.archive_offset, one.archive_length) for one in kept}
    assert SECRET.encode() in bytes_of(run)
    crawl, size = run.crawl_id, Path(files_of(run)[0].path).stat().st_size

    withdrawal = taken_down(run, gone.url.url, at_once=False)

    for name in ("page", "page-content", "page-record", "page-document"):
        assert operator.get(reverse(f"crawling:{name}", args=[crawl, gone.pk])).status_code == 410
    assert operator.get(f"/api/v1/crawls/{crawl}/pages/{gone.pk}").status_code == 410
    one = min(facts)
    compared = reverse("crawling:compare-page", args=[crawl, one, gone.pk])
    assert operator.get(compared).status_code == 410
    for place in (
        reverse("crawling:pages-rows", args=[crawl, "csv"]),
        reverse("crawling:extracted-file", args=[crawl, "json"]),
        f"{reverse('crawling:pages-records', args=[crawl])}?q=miller",
        f"{reverse('crawling:pages', args=[crawl])}?q=secret",
        f"/api/v1/crawls/{crawl}/pages",
        f"{reverse('hosts:search')}?q=secret",
        f"/api/v1/crawls/{crawl}/links?page={gone.url.url}",
    ):
        answer = operator.get(place)
        said = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert answer.status_code == 200, place
        assert SECRET.encode() not in said
        assert b"to /from-miller" not in said, place
    whole = reverse("crawling:archive-file", args=[crawl, files_of(run)[0].pk])
    assert "rewritten" in soup(operator.get(whole, follow=True)).get_text()
    assert (
        "rewritten"
        in soup(
            operator.get(reverse("crawling:pages-records", args=[crawl]), follow=True)
        ).get_text()
    )
    assert query_links(run, "SELECT count(*) FROM links WHERE target LIKE '%/miller'") == [(1,)]
    assert query_links(run, "SELECT count(*) FROM links WHERE page LIKE '%/miller'") == [(0,)]
    assert due_withdrawals() == []

    remove_records_now(run.crawl, withdrawal.pk, by=None)
    remove_records(withdrawal.pk)
    remove_abandoned()

    withdrawal.refresh_from_db()
    assert (withdrawal.state, withdrawal.trouble) == ("removed", "")
    assert len(judge(run)) == len(facts)  # warcio reads all files, and each page has its record
    assert SECRET.encode() not in bytes_of(run)
    assert b"/miller HTTP" not in bytes_of(run)
    assert {one.pk: (one.archive_offset, one.archive_length) for one in Page.objects.all()} == facts
    assert Path(files_of(run)[0].path).stat().st_size == size
    assert [row.content for row in WithdrawnPage.objects.all()] == [None]
    assert [p.links for p in LinksPart.objects.all()] == [4]
    assert query_links(run, "SELECT count(*) FROM links") == [(4,)]
    assert len(list(Path(settings.ARCHIVE_DIR, f"links{run.pk}").iterdir())) == 1
    assert operator.get(reverse("crawling:page", args=[crawl, gone.pk])).status_code == 410
    assert b"".join(operator.get(whole).streaming_content)


def test_other_pages_keep_a_payload_that_a_withdrawn_one_had(site, crawl_to_the_end, work_off):
    run = crawl_to_the_end(f"{site.url}/", **ORDER)
    second = work_off(start_run(run.crawl))
    holder = Page.objects.get(run=run, payload_sha256__isnull=False, is_revisit=False, bytes=1200)
    others = Page.objects.filter(bytes=1200).exclude(pk=holder.pk)
    assert others.count() == 5
    assert withdrawal_preview(run.crawl, run, kind="page", text=holder.url.url).sharing == 5

    withdrawal = taken_down(run, holder.url.url, only=run)
    for one in others.select_related("url", "archive_file", "run"):
        assert record_of(page_with_content(one)).payload == SHARED.encode()
        assert original_of(one) == one  # of the withdrawn page nothing but the payload is shown
    with pytest.raises(WrongState, match="holds the payload of 3 pages of run 2"):
        remove_run(run, by=None)
    remove_records(withdrawal.pk)
    remove_abandoned()

    withdrawal.refresh_from_db()
    assert withdrawal.state == "removed", withdrawal.trouble
    assert not removal_obstacle(run)
    assert Counter(others.values_list("run", "is_revisit")) == {
        (run.pk, False): 1,
        (run.pk, True): 1,
        (second.pk, False): 1,
        (second.pk, True): 2,
    }
    for one in others.select_related("url", "archive_file", "run"):
        assert record_of(original_of(one)).payload == SHARED.encode()
        assert original_of(one).run_id == one.run_id
    for one in (run, second):
        judge(one)
        references(one)


def references(*runs):
    """Assert that each revisit names a record that the runs' files have."""
    files = [file for run in runs for file in files_of(run)]
    records = [record.rec_headers for file in files for record in raw_records(file.path)]
    known = {
        (one.get_header("WARC-Record-ID"), one.get_header("WARC-Target-URI")) for one in records
    }
    for one in records:
        if referred := one.get_header("WARC-Refers-To"):
            assert (referred, one.get_header("WARC-Refers-To-Target-URI")) in known
        if concurrent := one.get_header("WARC-Concurrent-To"):
            assert (concurrent, one.get_header("WARC-Target-URI")) in known


def test_a_withdrawal_can_be_undone_until_files_are_rewritten(site, run):
    before = list(Page.objects.order_by("pk").values())
    extracted = list(ExtractedRow.objects.order_by("pk").values())
    withdrawal = taken_down(run, "/(miller|a)$", "pattern", at_once=False)
    assert (withdrawal.pages, Page.objects.count()) == (2, 4)

    undo_withdrawal(run.crawl, withdrawal.pk, by=None)

    assert list(Page.objects.order_by("pk").values()) == before
    assert list(ExtractedRow.objects.order_by("pk").values()) == extracted
    assert not WithdrawalFile.objects.exists()
    with pytest.raises(WrongState):
        undo_withdrawal(run.crawl, withdrawal.pk, by=None)
    with pytest.raises(WrongState):
        remove_records_now(run.crawl, withdrawal.pk, by=None)
    judge(run)


def test_what_two_withdrawals_cover_stays_withdrawn_until_both_are_undone(site, run):
    holder = Page.objects.get(bytes=1200, is_revisit=False)
    first = taken_down(run, holder.url.url, at_once=False)
    second = taken_down(run, f"{holder.url.url}$|/miller$", "pattern", at_once=False)

    undo_withdrawal(run.crawl, first.pk, by=None)
    assert Page.objects.count() == 4
    undo_withdrawal(run.crawl, second.pk, by=None)
    assert Page.objects.count() == 6

    first = taken_down(run, holder.url.url, at_once=False)
    remove_records(taken_down(run, f"{holder.url.url}$|/miller$", "pattern").pk)
    remove_abandoned()
    undo_withdrawal(run.crawl, first.pk, by=None)
    assert len(judge(run)) == 4
    references(run)


def test_a_host_goes_with_its_robots_txt(site, run):
    host = site.url.removeprefix("http://")

    withdrawal = taken_down(run, host, "host")
    remove_records(withdrawal.pk)

    assert withdrawal.pages == 6
    assert not Page.objects.exists()
    assert host.encode() not in bytes_of(run)


class Killed(BaseException):
    """The job ends here, and nothing of it is tidied."""


#: in the order in which a job comes to them
STEPS = (
    (rewriting, "_pieces"),
    (DirectoryStorage, "put"),
    (ArchiveFile, "delete"),
    (file_removal, "set_new_places"),
    (file_removal, "ranges_of"),
    (file_removal, "_note_done"),
    (file_removal, "remove_links"),
    (file_removal, "_finish_withdrawal"),
)


def killed_at(monkeypatch, withdrawal, place, step, *, is_after: bool):
    does = getattr(place, step)

    def killed(*args, **values):
        if is_after:
            does(*args, **values)
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(place, step, killed)
        with pytest.raises(Killed):
            remove_records(withdrawal.pk)


def test_a_job_that_was_killed_at_each_step_continues(site, run, monkeypatch):
    catch_up(run.pk)
    text = Page.objects.get(bytes=1200, is_revisit=False).url.url
    withdrawal = taken_down(run, f"{text}$|/miller$", "pattern")

    for place, step in STEPS:
        killed_at(monkeypatch, withdrawal, place, step, is_after=False)
        remove_abandoned()
        if step != "_finish_withdrawal":
            killed_at(monkeypatch, withdrawal, place, step, is_after=True)
    remove_records(withdrawal.pk)
    remove_abandoned()

    withdrawal.refresh_from_db()
    assert withdrawal.state == "removed", withdrawal.trouble
    assert len(judge(run)) == 4
    assert SECRET.encode() not in bytes_of(run)
    assert Page.objects.filter(is_revisit=True).count() == 1  # none was moved twice
    references(run)


def test_what_a_living_shift_may_still_refer_to_is_waited_for(site, run):
    process = run.processes.first()
    shift = Shift.objects.create(process=process, epoch=99, worker="")
    with pytest.raises(WrongState, match="pause it"):
        taken_down(run, f"{site.url}/miller")
    Shift.objects.filter(pk=shift.pk).update(ended_at=timezone.now())
    withdrawal = taken_down(run, f"{site.url}/miller")
    Shift.objects.filter(pk=shift.pk).update(ended_at=None)

    remove_records(withdrawal.pk)

    withdrawal.refresh_from_db()
    assert (withdrawal.state, withdrawal.trouble) == (
        "withdrawn",
        "A work session that began before may still refer to these pages.",
    )


def test_mistakes_are_told_by_field(run):
    for kind, text, field in (
        ("page", "nonsense", "text"),
        ("pattern", "(?=x)", "text"),
        ("host", "http://a.test/", "text"),
        ("site", "a.test", "kind"),
    ):
        with pytest.raises(BadOrder) as caught:
            taken_down(run, text, kind)
        assert list(caught.value.errors) == [field]
    with pytest.raises(NotFound):
        taken_down(run, "http://a.test/never")
    with pytest.raises(BadOrder) as caught:
        withdraw_pages(run.crawl, None, kind="page", text="http://a.test/", reason=" ", by=None)
    assert list(caught.value.errors) == ["reason"]


def test_a_run_goes_with_its_withdrawn_pages(site, crawl_to_the_end, tmp_path):
    run = crawl_to_the_end(f"{site.url}/", **ORDER)
    taken_down(run, f"{site.url}/miller", only=run, at_once=False)
    with pytest.raises(CheckpointTrouble, match="taken down"):
        take_checkpoint(run, tmp_path / "taken", with_archive=True)

    remove_run(run, by=None, for_good=True)

    assert remove_rows(seconds=60)  # what is left after its time, as the scheduler does
    assert not Run.all_objects.exists()
    assert not WithdrawnPage.objects.exists()
    assert not Withdrawal.objects.exists()
    assert not ArchiveFile.objects.exists()
