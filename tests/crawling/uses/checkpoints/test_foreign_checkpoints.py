"""A checkpoint made by a stranger: it can neither read nor remove a file of this server."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from crawling.archive.files import remove_abandoned
from crawling.archive.reader import packed_pieces
from crawling.base.errors import ArchiveTrouble, CheckpointTrouble
from crawling.dashboard.pages.not_fetched import reasons_of
from crawling.frontier.admit.refusals import store_refusals
from crawling.frontier.types import Refusal
from crawling.models import ArchiveFile, CrawlJob, Page, RobotsFile, Run, Verdict
from crawling.models.archive import archive_folder
from crawling.orders.scope.filters import Rule
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from crawling.uses.checkpoints.checkpoint_export import take_checkpoint
from crawling.uses.checkpoints.checkpoint_import import import_checkpoint
from tests.crawling.pages import browser
from tests.crawling.uses.checkpoints.test_checkpoints import forge, renew_sum


def rewrite(folder: Path, part: str, **changed) -> None:
    """Change columns of every row of a part, and renew its checksum."""
    file = folder / f"{part}.jsonl.gz"
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    lines = "".join(json.dumps(row | changed) + "\n" for row in rows)
    file.write_bytes(gzip.compress(lines.encode()))
    renew_sum(folder, file.name)


@pytest.fixture
def secret(tmp_path):
    """A file of the server that is none of the archive's, in a folder of its own."""
    file = tmp_path / "state" / "secret_key"
    file.parent.mkdir()
    file.write_text("what no crawl may see")
    return file


@pytest.mark.parametrize("with_archive", [True, False])
def test_a_row_neither_shows_nor_deletes_a_file_of_the_server(taken, secret, with_archive):
    if not with_archive:
        manifest = json.loads((taken / "manifest.json").read_text())
        forge(taken, manifest | {"archive": []})
    length = secret.stat().st_size
    for name in (str(secret), f"run1-x/../../../{secret.parent.name}/{secret.name}", "run1-../x"):
        rewrite(taken, "archive", name=name, committed_length=length)
        with pytest.raises(CheckpointTrouble, match="cannot be an archive file of ours"):
            import_checkpoint(taken)

    assert CrawlJob.objects.count() == Run.objects.count() == ArchiveFile.objects.count() == 1
    for job in CrawlJob.objects.all():
        delete_crawl(job, by=None, for_good=True)
    remove_abandoned()
    assert secret.read_text() == "what no crawl may see"


@pytest.mark.parametrize(
    "changed",
    [
        {"committed_length": -1},
        {"committed_length": 2**62},
        {"committed_length": 5},
        {"machine": "../../x"},
        {"name": "run1-there-0-00007.warc.gz"},
    ],
)
def test_rows_that_do_not_fit_their_files_are_refused_and_leave_nothing(taken, changed, settings):
    rewrite(taken, "archive", **changed)
    before = {path.name for path in Path(settings.ARCHIVE_DIR).iterdir()}

    with pytest.raises(CheckpointTrouble):
        import_checkpoint(taken)

    assert {path.name for path in Path(settings.ARCHIVE_DIR).iterdir()} == before
    assert Run.objects.count() == 1


@pytest.mark.parametrize("place", [{"archive_offset": -7}, {"archive_length": 2**40}])
def test_pages_whose_records_lie_outside_their_file_are_refused(taken, place):
    rewrite(taken, "pages", **place)

    with pytest.raises(CheckpointTrouble, match="record"):
        import_checkpoint(taken)


def test_an_older_checkpoint_has_not_all_parts(taken):
    manifest = json.loads((taken / "manifest.json").read_text())
    for part in ("further", "targets"):
        del manifest["parts"][part]
        (taken / f"{part}.jsonl.gz").unlink()
    forge(taken, manifest)

    assert Page.objects.filter(run=import_checkpoint(taken)).exists()


def test_pages_of_a_stranger_refer_to_no_page_of_this_server(taken):
    ours = Page.objects.earliest("pk").pk
    named = ("unchanged_since", "reused_from", "payload_from")
    rewrite(taken, "pages", **dict.fromkeys(named, ours))

    copy = import_checkpoint(taken)

    places = set(Page.objects.filter(run=copy).values_list(*named))
    assert places == {(None, 0, 0)}


def test_pages_of_a_stranger_answer_no_request_of_another_crawl(taken, crawl_to_the_end):
    ours = Page.objects.filter(status=200, is_imported=False).first()
    ahead = timezone.now() + timedelta(hours=23)
    rewrite(taken, "pages", fetched_at=ahead.isoformat(), is_imported=False, is_personal=False)
    copy = import_checkpoint(taken)
    # only the copy may be fresh
    Page.objects.filter(run=ours.run_id).update(fetched_at=timezone.now() - timedelta(days=2))

    other = crawl_to_the_end(ours.url.url, name="other", reuse_seconds=3600)

    assert other.pages.exists()
    assert not other.pages.exclude(reused_from=None).exists()
    assert not copy.pages.filter(fetched_at__gt=timezone.now()).exists()


def test_a_link_in_the_directory_is_not_followed(taken, secret):
    name = json.loads((taken / "manifest.json").read_text())["archive"][0]
    copy = secret.with_name("copy")
    copy.write_bytes((taken / "archive" / name).read_bytes())
    (taken / "archive" / name).unlink()
    (taken / "archive" / name).symlink_to(copy)

    with pytest.raises(CheckpointTrouble, match="not a plain file"):
        import_checkpoint(taken)


def test_no_row_of_the_archive_can_have_a_name_with_a_path_in_it(taken):
    for name in ("/etc/passwd", "run1-x/../../y.warc.gz", "run1-x.warc.gz\n"):
        with pytest.raises(IntegrityError, match="named_as_ours"), transaction.atomic():
            ArchiveFile.objects.update(name=name)


def test_a_file_that_links_lead_out_of_the_archive_is_neither_sent_nor_deleted(taken, secret):
    row = ArchiveFile.objects.get()
    row.path.unlink()
    row.path.symlink_to(secret)

    with pytest.raises(ArchiveTrouble, match="outside ARCHIVE_DIR"):
        b"".join(packed_pieces(row))
    crawl = row.run.crawl_id
    assert browser("operator").get(f"/crawls/{crawl}/archive/{row.pk}/").status_code == 302
    folder = archive_folder(f"run{row.run_id}")
    lock = folder / "kept.lock"
    lock.touch()
    delete_crawl(CrawlJob.objects.get(), by=None, for_good=True)
    remove_abandoned()

    assert secret.read_text() == "what no crawl may see"
    assert lock.exists()
    assert ArchiveFile.objects.filter(run=None).exists()


def test_robots_txt_from_the_future_neither_lasts_nor_replaces_what_this_server_has(taken):
    ours = RobotsFile.objects.get()
    body, ahead = bytes(ours.body), timezone.now() + timedelta(days=3650)
    forged = {"body": "\\x" + b"User-agent: *\nAllow: /".hex(), "fetched_at": ahead.isoformat()}
    rewrite(taken, "robots", **forged, expires_at=ahead.isoformat())
    import_checkpoint(taken)
    ours.refresh_from_db()
    assert bytes(ours.body) == body

    ours.delete()
    import_checkpoint(taken)
    theirs = RobotsFile.objects.get()
    assert theirs.fetched_at <= timezone.now()
    assert theirs.expires_at <= timezone.now() + timedelta(days=1)


def test_an_untouched_checkpoint_is_still_taken_with_its_files(taken):
    copy = import_checkpoint(taken)
    row = copy.archive_files.get()
    assert sum(map(len, packed_pieces(row))) == row.committed_length == row.path.stat().st_size
    take_checkpoint(copy, taken.with_name("again"), with_archive=True)


def test_a_checkpoint_that_says_black_list_is_read(order, tmp_path):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    kept_out = Refusal("http://b.test/", Rule.BLOCKLIST, "asked for", depth=1, hops=0, via=None)
    with transaction.atomic(), connection.cursor() as cursor:
        store_refusals(cursor, run.pk, [kept_out], revision="1.0.0")
    take_checkpoint(run, tmp_path / "taken", with_archive=False)
    rewrite(tmp_path / "taken", "verdicts", rule="black_list")
    rewrite(tmp_path / "taken", "verdict_counts", rule="black_list")

    copy = import_checkpoint(tmp_path / "taken")

    assert [(one.key, one.urls) for one in reasons_of(copy)] == [("rule-blocklist", 1)]
    assert Verdict.objects.get(run=copy).rule == "blocklist"
