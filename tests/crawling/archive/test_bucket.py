"""An archive in a bucket is written on a machine, uploaded as it grows, and read on any machine."""

from __future__ import annotations

import random
import shutil

import pytest

from crawling.archive import uploads
from crawling.archive.files import (
    Slot,
    open_last_file,
    remove_abandoned,
    seal_all,
    this_machine,
)
from crawling.archive.parts import part_names, upload
from crawling.archive.reader import open_file_from, record_of, records_of
from crawling.archive.uploads import Uploads
from crawling.archive.viewer import whole_document_of
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import local_storage, storage
from crawling.frontier import counts_of
from crawling.models import ArchiveFile, LogLine, Page, Run, RunState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from tests.crawling.archive.judging import fingerprint_in_archive
from tests.crawling.archive.test_files import commit
from tests.crawling.buckets import answer
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.stack import wait_until

NOISE = {f"/{n}": random.Random(n).randbytes(6_000) for n in range(12)}


@pytest.fixture
def run(order, bucket):
    return start_run(create_crawl(order("http://127.0.0.1:8900/")))


def written(run, *pieces) -> ArchiveFile:
    """A file of a slot whose pieces were committed."""
    slot = Slot(run.pk, this_machine())
    file = open_last_file(slot)
    file.append(pieces)
    commit(file)
    file.close()
    slot.close()
    file.row.refresh_from_db()
    return file.row


def noisy(make_site, **missing):
    kind = {"Content-Type": "image/png"}
    pages = {path: (200, kind, body) for path, body in NOISE.items()}
    return make_site({"/": links(*missing, *NOISE), **pages, **missing})


def test_a_crawl_is_read_from_the_bucket_on_another_machine(
    bucket, make_site, crawl_to_the_end, settings, another_machine, monkeypatch
):
    settings.ARCHIVE_FILE_BYTES = 20_000
    monkeypatch.setattr(uploads, "PART_BYTES", 5_000)

    run = crawl_to_the_end(f"{noisy(make_site).url}/", batch_size=2)
    another_machine()

    files = list(run.archive_files.all())
    assert len(files) >= 4
    assert all(file.sealed_at and file.uploaded_length == file.committed_length for file in files)
    assert not any(local_storage().list(file.folder) for file in files)
    for file in files:
        assert list(records_of(file, check_digests=True))
    pages = Page.objects.filter(run=run).select_related("archive_file", "url")
    assert len(pages) == 13
    for page in pages:
        assert fingerprint_in_archive(page) == page.fingerprint
    assert b'href="/3"' in whole_document_of(pages.get(content_type="text/html"))


def test_a_later_run_on_another_machine_refers_to_payloads_in_the_bucket(
    bucket, make_site, crawl_to_the_end, work_off, another_machine
):
    first = crawl_to_the_end(f"{noisy(make_site).url}/")
    another_machine()

    second = work_off(start_run(first.crawl))

    pages = Page.objects.filter(run=second).select_related("archive_file", "url", "run")
    assert sum(page.is_revisit for page in pages) == len(NOISE)
    for page in pages:
        assert fingerprint_in_archive(page) == page.fingerprint


def test_the_committed_bytes_alone_are_uploaded_and_each_once(run):
    row = written(run, b"one", b"two")
    upload(row)
    written(run, b"three")
    row.refresh_from_db()
    upload(row)

    assert row.parts == [6, 11]
    assert [storage().size(name) for name in part_names(row)] == [6, 5]


def test_each_range_is_read_over_the_bounds_of_parts(run, another_machine):
    row = written(run, b"one")
    upload(row)
    for piece in (b"two", b"three"):
        written(run, piece)
        row.refresh_from_db()
        upload(row)
    another_machine()

    for offset in range(11):
        with open_file_from(row, offset) as file:
            assert file.read() == b"onetwothree"[offset:]


def test_bytes_that_are_not_uploaded_yet_are_read_on_their_machine_alone(run, another_machine):
    upload(written(run, b"one"))
    row = written(run, b"two")

    with open_file_from(row, 3) as file:
        assert file.read() == b"two"
    another_machine()
    with pytest.raises(ArchiveTrouble, match="is still writing this part"):
        open_file_from(row, 3)


def test_a_reader_with_an_older_row_finds_what_was_uploaded_since(run, another_machine):
    row = written(run, b"one")
    upload(row)
    later = written(run, b"two")
    upload(later)
    another_machine()

    with open_file_from(row) as file:
        assert file.read() == b"onetwo"


def test_two_uploads_of_the_same_bytes_count_once(run):
    row = written(run, b"one")
    same, longer = (ArchiveFile.objects.get(pk=row.pk) for _ in range(2))
    longer.committed_length = 3

    upload(row)
    upload(same)

    assert same.parts == [3]
    assert list(storage().list(row.folder)) == [name.split("/")[1] for name in part_names(row)] + [
        row.name
    ]


def test_a_later_upload_of_other_bytes_takes_nothing_from_the_first(run):
    row = written(run, b"one")
    late = ArchiveFile.objects.get(pk=written(run, b"two").pk)
    upload(row)

    upload(late)

    assert (late.parts, row.parts) == ([3], [3])
    assert [name for name in storage().list(row.folder) if ".at" in name] == [
        part_names(row)[0].split("/")[1]
    ]


def test_a_sealed_file_is_in_the_bucket_and_no_more_on_its_machine(run):
    row = written(run, b"one")
    Run.objects.filter(pk=run.pk).update(state=RunState.STOPPED)

    seal_all(run.pk)

    row.refresh_from_db()
    assert (row.parts, row.sealed_at is not None) == ([3], True)
    assert local_storage().size(row.stored_name) is None


def test_a_file_stays_on_its_machine_while_the_bucket_fails(run, bucket, monkeypatch):
    row = written(run, b"one")
    bucket.always = answer(403, "AccessDenied")

    seal_all(run.pk)

    row.refresh_from_db()
    assert (row.parts, row.sealed_at) == ([], None)
    assert local_storage().size(row.stored_name) == 3
    bucket.always = None
    seal_all(run.pk)
    row.refresh_from_db()
    assert row.parts == [3]


def test_deleting_a_run_deletes_its_parts_from_any_machine(run, another_machine):
    written(run, b"one")
    Run.objects.filter(pk=run.pk).update(state=RunState.STOPPED)
    seal_all(run.pk)
    another_machine()

    delete_crawl(run.crawl, by=None, for_good=True)
    remove_abandoned()

    assert not ArchiveFile.objects.exists()
    assert storage().list(f"run{run.pk}") == {}


def test_a_crawl_goes_on_while_the_bucket_cannot_be_reached(
    bucket, make_site, crawl_to_the_end, monkeypatch
):
    bucket.always = answer(503, "SlowDown")
    monkeypatch.setattr("crawling.base.bucket.WAIT_SECONDS", 0.0)
    monkeypatch.setattr(uploads, "PART_BYTES", 5_000)

    run = crawl_to_the_end(f"{noisy(make_site).url}/", batch_size=2)

    assert run.state == RunState.FINISHED
    assert Page.objects.filter(run=run).count() == 13
    bucket.always = None
    seal_all(run.pk)
    assert all(file.uploaded_length == file.committed_length for file in run.archive_files.all())


def test_a_crawl_rests_while_the_bucket_refuses_and_loses_nothing(
    bucket, make_site, order, work_off, monkeypatch
):
    monkeypatch.setattr(uploads, "PART_BYTES", 1)
    monkeypatch.setattr(uploads, "LOOK_SECONDS", 0.05)
    bucket.always = answer(403, "AccessDenied")
    site = noisy(make_site)
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=1, delay_seconds=0.3)))

    work_off(run, until=lambda run: run.state == RunState.PAUSED)

    run.refresh_from_db()
    assert "the archive cannot be uploaded: the bucket crawls refuses" in run.reason
    for page in Page.objects.filter(run=run).select_related("archive_file"):
        assert record_of(page)


def test_uploads_of_a_shift_are_finished_at_its_end(transactional_db, run):
    row = written(run, b"one")
    thread = Uploads()

    thread.note({row.pk: 3})
    thread.finish()

    row.refresh_from_db()
    assert row.parts == [3]


def test_a_full_part_is_uploaded_during_the_shift(transactional_db, run, monkeypatch):
    monkeypatch.setattr(uploads, "PART_BYTES", 3)
    row = written(run, b"one")
    thread = Uploads()

    thread.note({row.pk: 3})

    wait_until(lambda: ArchiveFile.objects.get(pk=row.pk).parts == [3])
    thread.finish()


@pytest.mark.parametrize("part_bytes", [10**9, 20_000, 1])
def test_pages_that_were_lost_with_their_machine_are_fetched_again(
    part_bytes, bucket, make_site, order, work_off, settings, monkeypatch
):
    monkeypatch.setattr(uploads, "PART_BYTES", part_bytes)
    monkeypatch.setattr(uploads, "LOOK_SECONDS", 0.05)
    settings.CRAWL_SLICE_SECONDS = 0.0
    site = noisy(make_site, **{"/missing": (404, {}, "gone")})
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=1, delay_seconds=0.1)))
    killed = []
    with monkeypatch.context() as patch:
        patch.setattr(Uploads, "finish", lambda self: killed.append(self))
        work_off(run, until=lambda run: Page.objects.filter(run=run).count() >= 4)
    shutil.rmtree(settings.ARCHIVE_DIR / f"run{run.pk}")

    work_off(run)

    assert Page.objects.filter(run=run).count() == 14
    counts = counts_of([run.pk])[run.pk]
    assert (counts.fetched, counts.succeeded, counts.failed) == (14, 13, 1)
    pages = Page.objects.filter(run=run).select_related("archive_file", "url", "run")
    for page in pages:
        assert fingerprint_in_archive(page) == page.fingerprint
    for thread in killed:
        thread.finish()
    if part_bytes > 10**6:
        assert LogLine.objects.filter(run=run, message__contains="are fetched again").exists()
