"""A back-up that is taken while a crawl runs makes an empty installation continue where it was;
what is wrong with one is told.
"""

from __future__ import annotations

import gzip
import threading
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.urls import reverse

from allocation.models import Event, OutboxKind, ProcessState
from allocation.services import create_pool, reap_expired, unsent_outbox
from crawling.archive.files import deletions_held, remove_abandoned
from crawling.fetching.worker.jobs import run_shift
from crawling.jobs.running import run_job
from crawling.models import ArchiveFile, CrawlJob, Page, Run, RunState
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import shift_was_reaped
from crawling.runs.start import start_run
from crawling.scheduler.duties import settle_interrupted_runs, start_due_crawls
from crawling.uses.checkpoints.jobs import Checkpoint, checkpoints_of, request_checkpoint
from crawling.uses.exports.jobs import WACZ
from crawling.uses.exports.state import request_export, state_of
from crawlsite.backup import back_up
from tests.crawling.archive.judging import judge
from tests.crawling.conftest import CLASSES, granted_starts, loopback, order, pool, work_off  # noqa: F401
from tests.crawling.pages import browser
from tests.databases.emptying import empty_database


@pytest.fixture
def elsewhere(settings, tmp_path):
    """Return a function that makes this an empty installation on a machine of its own, where ids
    begin anew.
    """

    def move():
        empty_database()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT setval(sequencename::regclass, 1, false) FROM pg_sequences "
                "WHERE sequencename ~ '^(allocation|crawling)_'"
            )
        settings.ARCHIVE_DIR = tmp_path / "elsewhere"

    return move


@pytest.fixture
def finished(make_site, order, work_off, tmp_path):  # noqa: F811
    """A back-up of one finished crawl that logs in."""
    crawl = create_crawl(
        order(f"{make_site({'/': 'x'}).url}/", name="kept", headers={"X-Key": "hunter2"})
    )
    work_off(start_run(crawl))
    call_command("backup", tmp_path / "saved")
    return tmp_path / "saved"


def in_a_thread(do):
    """Do it as another process would meanwhile, on a connection of its own."""

    def work():
        try:
            do()
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_crawl_that_was_at_work_goes_on_in_the_new_place(
    make_site,
    order,  # noqa: F811
    work_off,  # noqa: F811
    elsewhere,
    tmp_path,
    settings,
):
    settings.BANK_LEASE_SECONDS = 2.0
    folder, before = tmp_path / "saved", {}

    def save_meanwhile(request):
        if not folder.exists():
            in_a_thread(lambda: back_up(folder))
        return 200, {}, "the last"

    site = make_site(
        {
            "/": '<a href="/a">a</a>',
            "/a": '<title>A</title><a href="/b">b</a>',
            "/b": save_meanwhile,
        }
    )
    create_pool(name="other", classes=CLASSES)
    run = work_off(start_run(create_crawl(order(f"{site.url}/", batch_size=1, name="moves"))))
    before["run"], before["events"] = run.pk, Event.objects.count()
    elsewhere()

    call_command("restore", folder)

    again = Run.objects.get()
    assert (again.pk, again.state) == (before["run"], RunState.RUNNING)
    assert 0 < Event.objects.count() < before["events"]
    restored = {page.url.url.removeprefix(site.url) for page in Page.objects.all()}
    assert "/b" not in restored
    call_command("audit_allocation")
    while again.state not in ENDED_STATES:
        reap_expired()
        for message in unsent_outbox():
            if message.kind == OutboxKind.REAPED:
                shift_was_reaped(message.process, message.epoch)
        settle_interrupted_runs()
        start_due_crawls()
        for process, epoch in granted_starts():
            run_shift(process, epoch)
        again.refresh_from_db()
    call_command("audit_allocation")
    assert {page.url.url.removeprefix(site.url) for page in judge(again)} == {"/", "/a", "/b"}
    page = Page.objects.get(title="A")
    viewed = browser("viewer").get(reverse("crawling:page-content", args=[again.crawl_id, page.pk]))
    assert "<title>A</title>" in viewed.content.decode()


def test_new_rows_get_numbers_that_were_never_given(finished, elsewhere, loopback):  # noqa: F811
    last = Event.objects.latest("pk").pk
    elsewhere()
    call_command("restore", finished)

    start_run(CrawlJob.objects.get())

    assert Event.objects.filter(pk__gt=last).exists()
    assert ProcessState.ACTIVE in CrawlJob.objects.get().runs.first().processes.values_list(
        "bank_process__state", flat=True
    )


def test_exports_are_made_anew_and_checkpoints_stay_where_they_are(
    finished, elsewhere, settings, tmp_path
):
    settings.CHECKPOINT_DIR = tmp_path / "checkpoints"
    run = Run.objects.get()
    for job in (request_export(run, WACZ), request_checkpoint(run)):
        run_job(job.pk)
    call_command("backup", tmp_path / "with-jobs")
    elsewhere()

    call_command("restore", tmp_path / "with-jobs")

    run = Run.objects.get()
    told = state_of(run, WACZ)
    assert (told.file, told.trouble) == (None, "")
    run_job(request_export(run, WACZ).pk)
    assert state_of(run, WACZ).file is not None
    (checkpoint,) = map(Checkpoint.from_job, checkpoints_of(run.crawl))
    assert checkpoint.directory == str(*settings.CHECKPOINT_DIR.iterdir())


@pytest.mark.parametrize("part", ["crawling_page.copy.gz", "archive", "manifest.json"])
def test_one_wrong_byte_is_found_before_anything_is_loaded(finished, elsewhere, part):
    elsewhere()
    path = next((finished / part).iterdir()) if part == "archive" else finished / part
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    with pytest.raises(CommandError, match="is damaged"):
        call_command("restore", finished)
    assert not CrawlJob.objects.exists()


def test_it_is_refused_where_there_are_crawls_and_without_the_key(finished, elsewhere, settings):
    with pytest.raises(CommandError, match="There are crawls in this installation"):
        call_command("restore", finished)
    elsewhere()
    settings.SECRET_KEY = "another"

    with pytest.raises(CommandError, match="SECRET_KEY is not the one of the back-up"):
        call_command("restore", finished)
    assert not CrawlJob.objects.exists()


def test_if_the_rows_cannot_be_loaded_no_file_stays_either(finished, elsewhere, settings):
    elsewhere()
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE crawling_crawljob ADD CONSTRAINT nothing CHECK (name <> 'kept')"
        )
    try:
        with pytest.raises(CommandError, match="nothing was"):
            call_command("restore", finished)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE crawling_crawljob DROP CONSTRAINT nothing")

    assert not list(settings.ARCHIVE_DIR.rglob("*.warc.gz"))
    assert not User.objects.filter(username="command-line").exists()


def test_a_file_that_is_being_copied_is_not_removed(finished):
    Page.objects.all().delete()
    ArchiveFile.objects.update(run=None)
    removed = []

    with deletions_held():
        in_a_thread(lambda: removed.append(remove_abandoned()))
    assert removed == [0]
    assert remove_abandoned() == 1


def test_no_secret_is_in_it_and_nobody_else_may_read_it(finished, settings, tmp_path):
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, mail_url="smtp://us:mailpass@mail.test")
    back_up(tmp_path / "mailing")

    assert "mailpass" not in (tmp_path / "mailing" / "manifest.json").read_text()
    assert finished.stat().st_mode & 0o077 == 0
    assert settings.SECRET_KEY not in (finished / "manifest.json").read_text()
    assert b"hunter2" not in gzip.decompress((finished / "crawling_crawljob.copy.gz").read_bytes())
