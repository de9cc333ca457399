"""A checkpoint is a run's whole state: another server continues with it, as often as one likes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from threading import Thread

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, connections

from allocation.models import Pool, Process
from allocation.services import set_capacity
from crawling.archive.checkpoint_directory import digest_of, read_manifest
from crawling.base.errors import CheckpointTrouble
from crawling.frontier import counts_of
from crawling.frontier.change.checkpoint_rows import OWN, SHARED
from crawling.models import CrawlJob, Page, Run, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.fetching_section import fetching_of
from crawling.runs.start import start_run
from crawling.runs.steering import resume
from crawling.uses.checkpoints import checkpoint_export
from crawling.uses.checkpoints.checkpoint_export import take_checkpoint
from crawling.uses.checkpoints.checkpoint_import import import_checkpoint
from tests.crawling.frontiers import other_connection
from tests.stack import wait_until
from tests.webs.synthetic import ServedWeb, SyntheticWeb, serve_web

#: what belongs to a run and stays behind, but for its archive, which `crawling.archive` takes over
#: cookies are secrets, sealed by a key of this server; schedules are the crawl's
LEFT_BEHIND = {
    "crawling_runtotal",  # made anew of the counts
    "crawling_archivefile",
    "crawling_linkspart",  # made anew of the archive
    "crawling_backgroundjob",  # what was made of the run is made anew
    "crawling_runprocess",
    "crawling_logline",
    "crawling_cookiejar",
    "crawling_ownrobotsfile",
    "crawling_scheduledstart",
    "crawling_withdrawal",
    "link_check_brokenlinks",
    "watches_watchevent",
    "collections_collectionmember",
    "crawling_withdrawnpage",  # what is withdrawn stays behind
}


@pytest.fixture
def second_server(pool, loopback, settings, tmp_path):
    """Moves to another server: a database with a pool and nothing else, and an archive of its
    own."""
    first, second = connection.settings_dict["NAME"], f"{connection.settings_dict['NAME']}_second"
    fixtures = connection.settings_dict

    def administrate(statement: str) -> None:
        connection.close()
        fixtures["NAME"] = "postgres"
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.close()

    def use(name: str) -> None:
        connection.close()
        fixtures["NAME"] = name

    administrate(f'DROP DATABASE IF EXISTS "{second}" WITH (FORCE)')
    administrate(f'CREATE DATABASE "{second}" TEMPLATE "{first}"')
    use(first)

    def move() -> None:
        use(second)
        settings.ARCHIVE_DIR = tmp_path / "second archive"

    yield move
    administrate(f'DROP DATABASE "{second}" WITH (FORCE)')
    use(first)


def test_all_parts_are_of_one_moment_though_the_run_goes_on(order, tmp_path, monkeypatch):
    run, part = (
        start_run(create_crawl(order("http://127.0.0.1:8900/"))),
        checkpoint_export._write_part,
    )

    def part_of_a_run_that_goes_on(writer, run, name, *rest):
        if name == "urls":
            with other_connection(("DELETE FROM crawling_url WHERE run_id = %s", [run.pk])):
                pass  # it is committed then
        return part(writer, run, name, *rest)

    monkeypatch.setattr(checkpoint_export, "_write_part", part_of_a_run_that_goes_on)
    take_checkpoint(run, tmp_path / "taken", with_archive=False)

    manifest = read_manifest(tmp_path / "taken")
    assert not Url.objects.filter(run=run).exists()
    assert (manifest.parts["urls"]["rows"], manifest.counts["discovered"]) == (1, 1)


def ends_of(run: Run) -> dict[str, tuple[str, int]]:
    return {
        url: (state, status)
        for url, state, status in Url.objects.filter(run=run).values_list("url", "state", "status")
    }


def take_at(served: ServedWeb, requests: int, run: Run, folder: Path) -> Thread:
    """Take a checkpoint beside the crawl, once the web has answered so often."""

    def take() -> None:
        wait_until(lambda: served.count_requests() >= requests)
        try:
            take_checkpoint(run, folder, with_archive=True)
        finally:
            connections.close_all()

    thread = Thread(target=take)
    thread.start()
    return thread


def test_a_run_taken_while_it_goes_on_is_finished_twice_on_another_server(
    second_server, order, work_off, tmp_path
):
    with serve_web(SyntheticWeb(7, hosts=2, width=8, slow_percent=40)) as served:
        expected = served.expected()
        run = start_run(create_crawl(order(*served.seeds, batch_size=5)))
        thread = take_at(served, 20, run, tmp_path / "taken")
        work_off(run)
        thread.join()
        second_server()
        again = [import_checkpoint(tmp_path / "taken") for _ in range(2)]

        for copy in again:
            before = served.count_requests()
            assert Page.objects.filter(run=copy).count() >= 5
            left = Url.objects.filter(run=copy, state="q").count()
            resume(copy.crawl)
            work_off(copy)
            assert ends_of(copy) == expected
            assert (
                counts_of([copy.pk])[copy.pk].fetched
                == Page.objects.filter(run=copy).count()
                == len(expected)
            )
            assert left <= served.count_requests() - before < len(expected)
            call_command("archive", "check", str(copy.crawl_id))
        assert [copy.crawl.name for copy in again] == ["a crawl", "a crawl 2"]
        assert not Process.objects.filter(holding=True).exists()


def test_a_crawls_secrets_are_given_anew(order, tmp_path):
    secrets = {"headers": {"X-Key": "k1"}, "proxy": "socks5://me:p1@127.0.0.1:9"}
    crawl = create_crawl(
        order(
            "http://127.0.0.1:8900/",
            **{**secrets, "headers": {"X-Key": "k1", "Accept-Language": "de"}},
        )
    )
    take_checkpoint(start_run(crawl), tmp_path / "taken", with_archive=True)
    file = tmp_path / "secrets.json"

    with pytest.raises(
        CommandError,
        match=r"Give these with --secrets FILE, as JSON: headers: X-Key; proxy: proxy\.",
    ):
        call_command("checkpoint", "import", str(tmp_path / "taken"))
    file.write_text(json.dumps({"headers": {"X-Key": "k1"}}))
    with pytest.raises(CommandError, match=r"as JSON: proxy: proxy\."):
        call_command("checkpoint", "import", str(tmp_path / "taken"), "--secrets", str(file))
    assert CrawlJob.objects.count() == 1

    file.write_text(json.dumps(secrets))
    call_command("checkpoint", "import", str(tmp_path / "taken"), "--secrets", str(file))
    copy = CrawlJob.objects.exclude(pk=crawl.pk).get()
    assert fetching_of(copy) == fetching_of(crawl)


def spoil(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])


def renew_sum(folder: Path, name: str) -> None:
    sums = folder / "SHA256SUMS"
    lines = [line for line in sums.read_text().splitlines() if not line.endswith(f"  {name}")]
    sums.write_text("\n".join([*lines, f"{digest_of(folder / name)}  {name}"]) + "\n")


def test_what_is_damaged_newer_or_forged_is_refused_before_anything_is_written(taken):
    manifest = json.loads((taken / "manifest.json").read_text())
    damages = {
        "urls.jsonl.gz is damaged": lambda: spoil(taken / "urls.jsonl.gz"),
        "manifest.json is damaged": lambda: spoil(taken / "manifest.json"),
        "pages.jsonl.gz cannot be read": lambda: (taken / "pages.jsonl.gz").unlink(),
        "is no checkpoint, or not a whole one": lambda: (taken / "SHA256SUMS").unlink(),
        "upgrade it": lambda: forge(taken, manifest | {"version": 2}),
        "no name of an archive file": lambda: forge(
            taken, manifest | {"archive": ["../../run1-x.warc.gz"]}
        ),
        "max_pages: must be a whole number": lambda: forge(
            taken, manifest | {"order": manifest["order"] | {"max_pages": "many"}}
        ),
    }
    kept = taken.with_name("kept")
    shutil.copytree(taken, kept)
    for sentence, damage in damages.items():
        damage()
        with pytest.raises(CommandError, match=sentence):
            call_command("checkpoint", "import", str(taken))
        shutil.rmtree(taken)
        shutil.copytree(kept, taken)
    assert CrawlJob.objects.count() == Run.objects.count() == 1


def forge(folder: Path, manifest: dict) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest))
    renew_sum(folder, "manifest.json")


def test_a_claim_is_cut_to_what_the_pool_has_and_a_run_that_had_ended_has_ended(taken, settings):
    set_capacity(pool=Pool.objects.get().pk, capacity={"fetch_slots": 3})
    run = import_checkpoint(taken, name="elsewhere", resume=True)

    assert (run.crawl.name, run.state) == ("elsewhere", "finished")
    assert run.crawl.claim["fetch_slots"] == 3
    assert (
        not Process.objects.exclude(run_process__run__number=None).filter(state="active").exists()
    )
    names = [row.path.name for row in run.archive_files.all()]
    assert [path.name for path in (settings.ARCHIVE_DIR / f"run{run.pk}").iterdir()] == names


def test_a_directory_that_is_there_is_left_alone(taken):
    before = {path.name: path.stat().st_mtime_ns for path in taken.iterdir()}
    with pytest.raises(CheckpointTrouble, match="is there already"):
        take_checkpoint(Run.objects.get(), taken, with_archive=True)

    assert {path.name: path.stat().st_mtime_ns for path in taken.iterdir()} == before
    assert [path.name for path in taken.parent.iterdir()] == [taken.name]


def test_all_tables_of_a_run_are_in_a_checkpoint_and_all_references_are_renewed():
    """A table or a foreign key that is added needs its place in
    `crawling.frontier.change.checkpoint_rows`.
    """
    parts = {part.model: part for part in (*SHARED, *OWN)}
    of_runs = {
        model for model in apps.get_models() if "run_id" in {f.column for f in model._meta.fields}
    }
    assert {model._meta.db_table for model in of_runs - parts.keys()} == LEFT_BEHIND
    for part in OWN:
        keys = {f.column for f in part.model._meta.concrete_fields if f.is_relation} - {
            "run_id",
            "shift_id",
        }
        assert keys - part.references.keys() <= ({"host_id"} if part.name == "queues" else set()), (
            part.name
        )
