"""An archive is moved from a directory into a bucket and back, and is read meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from crawling.archive.files import this_machine
from crawling.base.storage import local_storage
from crawling.datasets.catch_up import catch_up
from crawling.datasets.query import query_links
from crawling.models import ArchiveFile, Page
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.archive.judging import fingerprint_in_archive, judge
from tests.crawling.archive.test_bucket import noisy, written
from tests.crawling.buckets import answer


def stored_files(settings) -> list[str]:
    folder = Path(settings.ARCHIVE_DIR)
    found = [*folder.glob("run*/*.gz"), *folder.glob("links*/*")]
    return sorted(str(path.relative_to(folder)) for path in found)


def read_all(run) -> None:
    pages = Page.objects.filter(run=run).select_related("archive_file", "url")
    assert len(pages) == 13
    for page in pages:
        assert fingerprint_in_archive(page) == page.fingerprint
    assert query_links(run, "SELECT count(*) FROM links") == [(12,)]


def test_an_archive_goes_into_a_bucket_and_comes_back(
    bucket, make_site, crawl_to_the_end, settings, capsys
):
    address, settings.ARCHIVE_URL = settings.ARCHIVE_URL, ""
    settings.ARCHIVE_FILE_BYTES = 20_000
    run = crawl_to_the_end(f"{noisy(make_site).url}/", batch_size=2)
    catch_up(run.pk)
    before = stored_files(settings)
    assert len(before) >= 5
    settings.ARCHIVE_URL = address

    read_all(run)  # before it is moved
    call_command("archive", "move", "bucket")
    assert stored_files(settings) == []
    assert f"{len(before)} files moved to the bucket; 0 are" in capsys.readouterr().out
    read_all(run)
    call_command("archive", "move", "bucket")
    assert "0 files moved" in capsys.readouterr().out

    call_command("archive", "move", "directory")
    assert stored_files(settings) == before
    read_all(run)
    settings.ARCHIVE_URL = ""
    judge(run)
    read_all(run)


def test_a_move_that_was_broken_off_continues(bucket, make_site, crawl_to_the_end, settings):
    address, settings.ARCHIVE_URL = settings.ARCHIVE_URL, ""
    run = crawl_to_the_end(f"{noisy(make_site).url}/")
    catch_up(run.pk)
    settings.ARCHIVE_URL = address
    bucket.always = answer(403, "AccessDenied")

    with pytest.raises(CommandError, match="0 files were moved, then: the bucket crawls refuses"):
        call_command("archive", "move", "bucket")
    bucket.always = None
    read_all(run)
    call_command("archive", "move", "bucket")

    assert stored_files(settings) == []
    read_all(run)


def test_a_file_that_was_deleted_while_it_was_copied_does_not_stay(bucket, settings, db):
    local_storage().put("run7/run7-vm-0-00000.warc.gz", [b"deleted"])

    call_command("archive", "move", "directory")

    assert stored_files(settings) == []


def test_without_a_bucket_nothing_is_moved(db):
    with pytest.raises(CommandError, match="set ARCHIVE_URL"):
        call_command("archive", "move", "bucket")


def test_what_a_lost_machine_did_not_upload_is_given_up(bucket, order, pool, capsys):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    row = written(run, b"one")
    with pytest.raises(CommandError, match="This machine is not lost"):
        call_command("archive", "lost", this_machine())
    ArchiveFile.objects.update(machine="dead")

    call_command("archive", "lost", "dead")

    row.refresh_from_db()
    assert (row.committed_length, row.sealed_at is not None) == (0, True)
    assert "0 pages had records on dead alone" in capsys.readouterr().out
