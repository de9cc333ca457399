"""Files of the archive are in step with the database after any crash."""

from __future__ import annotations

import os
import resource

import pytest

from crawling.archive.files import (
    OpenFile,
    Slot,
    open_last_file,
    open_next_file,
    remove_abandoned,
    seal_all,
    this_machine,
)
from crawling.models import ArchiveFile, Page, RunState
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from crawling.scheduler.duties import settle_interrupted_runs
from tests.crawling.archive.judging import files_of, judge
from tests.crawling.fetching.pipeline.test_crawl_path import links


@pytest.fixture
def run(order):
    return start_run(create_crawl(order("http://127.0.0.1:8900/")))


def commit(file: OpenFile) -> None:
    file.sync()
    ArchiveFile.objects.filter(pk=file.row.pk).update(committed_length=file.length)


def test_two_shifts_of_a_run_never_write_one_file(run):
    first, second = (Slot(run.pk, this_machine()) for _ in range(2))
    files = [open_last_file(slot) for slot in (first, second)]

    assert (first.number, second.number) == (0, 1)
    assert files[0].row.path != files[1].row.path
    for one in (*files, first, second):
        one.close()


def test_a_slot_is_free_again_once_its_holder_has_gone(run):
    first = Slot(run.pk, this_machine())
    first.close()
    again = Slot(run.pk, this_machine())

    assert again.number == 0
    again.close()


def test_what_was_not_committed_is_cut_off_and_written_over(run):
    slot = Slot(run.pk, this_machine())
    file = open_last_file(slot)
    file.append([b"committed"])
    commit(file)
    file.append([b" and a record that was cut off in the mid"])
    file.sync()
    file.close()

    again = open_last_file(slot)

    assert again.row == file.row
    assert again.row.path.read_bytes() == b"committed"
    again.append([b"!"])
    again.sync()
    assert again.row.path.read_bytes() == b"committed!"
    again.close()
    slot.close()


def test_a_file_that_lost_what_was_committed_is_not_written_to(run):
    slot = Slot(run.pk, this_machine())
    file = open_last_file(slot)
    file.append([b"committed"])
    commit(file)
    file.close()
    os.truncate(file.row.path, 3)

    with pytest.raises(Exception, match="is shorter than when it was written"):
        open_last_file(slot)
    slot.close()


def test_a_run_that_has_ended_leaves_no_torn_file(run):
    slot = Slot(run.pk, this_machine())
    kept, empty = open_next_file(slot), open_next_file(slot)
    kept.append([b"committed"])
    commit(kept)
    for file in (kept, empty):
        file.append([b"torn"])
        file.sync()
        file.close()

    seal_all(run.pk)
    # its slot is held: a shift may be writing
    assert kept.row.path.read_bytes() == b"committedtorn"
    slot.close()
    seal_all(run.pk)

    assert kept.row.path.read_bytes() == b"committed"
    assert not empty.row.path.exists()
    assert not ArchiveFile.objects.filter(sealed_at=None).exists()


def test_the_scheduler_closes_files_whose_shift_outlived_the_run(run):
    slot = Slot(run.pk, this_machine())
    file = open_next_file(slot)
    commit(file)
    file.close()
    steering.stop(run.crawl, by=None)
    settle_interrupted_runs()
    assert ArchiveFile.objects.get().sealed_at is None  # its slot is held still
    assert run.crawl.runs.get().state == RunState.STOPPED
    slot.close()

    settle_interrupted_runs()

    assert ArchiveFile.objects.get().sealed_at


def test_deleting_a_crawl_removes_its_files_and_no_others(make_site, crawl_to_the_end, settings):
    site = make_site({"/": "x"})
    stays = crawl_to_the_end(f"{site.url}/", name="stays")
    goes = crawl_to_the_end(f"{site.url}/", name="goes")
    folder = files_of(goes)[0].path.parent
    assert folder.exists()

    delete_crawl(goes.crawl, by=None, for_good=True)

    assert not folder.exists()
    judge(stays)


def test_files_that_a_crash_left_behind_go_the_next_time(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    (file,) = files_of(run)
    Page.objects.all().delete()
    ArchiveFile.objects.update(run=None)

    assert remove_abandoned() == 1
    assert remove_abandoned() == 0
    assert not file.path.parent.exists()


def test_a_disk_that_is_full_pauses_the_run_and_loses_nothing(make_site, order, work_off, settings):
    noise = {
        f"/{n}": (
            200,
            {"Content-Type": "image/png"},
            bytes(range(256)) * 8 + n.to_bytes(2, "big") * 9000,
        )
        for n in range(40)
    }
    site = make_site({"/": links(*noise), **noise})
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=5)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (15_000, before[1]))
    try:
        work_off(run, until=lambda run: run.state == "paused")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert run.reason.startswith("Paused because the archive cannot be written (File too large).")
    assert run.log.filter(message=run.reason).exists()
    judge(run, is_tidy=False)

    steering.resume(run.crawl)
    run.refresh_from_db()
    work_off(run)

    assert (run.state, len(judge(run))) == ("finished", 41)


def test_two_machines_of_one_name_have_files_of_their_own(settings, tmp_path):
    names = []
    for state in ("one", "two", "one"):
        settings.STATE_DIR = tmp_path / state
        settings.STATE_DIR.mkdir(exist_ok=True)
        names.append(this_machine())

    assert names[0] == names[2] != names[1]
