"""A folder and feeds give crawls seeds: what is read and refused, and what becomes of a run."""

from __future__ import annotations

import json
import os
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from crawling.base.errors import BadOrder, WrongState
from crawling.jobs.due_jobs import request_due_jobs
from crawling.models import BackgroundJob, CrawlJob, Page, Run, SeedSource
from crawling.runs.crawls.creation import create_crawl
from crawling.uses.seed_sources import reading
from crawling.uses.seed_sources.jobs import SEED_SOURCE
from crawling.uses.seed_sources.reading import due_sources, read_source
from crawling.uses.seed_sources.seed_files import READ
from crawling.uses.seed_sources.sources import SeedSourceFields, create_source, folder_of
from tests.crawling.pages import browser, soup


@pytest.fixture(autouse=True)
def seed_dir(settings, tmp_path):
    settings.SEED_DIR = tmp_path / "seeds"


PAGES = {"/": "home", "/a": "a", "/b": "b", "/c": "c"}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(PAGES)


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    """A run that has ended with one page."""
    return crawl_once(f"{site.url}/")


@pytest.fixture
def ended(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def put(crawl: CrawlJob, name: str, text: str, *, age: float = 10) -> None:
    """A file that was put into the crawl's folder a while ago."""
    path = folder_of(crawl) / name
    path.write_text(text)
    os.utime(path, (time.time() - age,) * 2)


def read_again(source: SeedSource) -> SeedSource:
    """Read it at its next turn."""
    SeedSource.objects.filter(pk=source.pk).update(next_at=timezone.now())
    read_source(source.pk)
    source.refresh_from_db()
    return source


def feed(*urls: str) -> tuple[int, dict[str, str], str]:
    items = [{"id": url, "url": url} for url in urls]
    kind = {"Content-Type": "application/feed+json"}
    return 200, kind, json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items})


def paths(run: Run, site) -> set[str]:
    found = Page.objects.filter(run=run, status=200).values_list("url__url", flat=True)
    return {url.removeprefix(site.url) for url in found}


def test_addresses_put_into_the_folder_are_fetched_by_the_ended_run(
    site, crawl_to_the_end, work_off, identified
):
    ended = crawl_to_the_end(f"{site.url}/")
    source = create_source(ended.crawl, SeedSourceFields("folder", minutes=1), by=None)
    put(ended.crawl, "one.txt", f"# wanted\n{site.url}/a\n\nnonsense\n{site.url}/\n")
    put(ended.crawl, "two.json", feed(f"{site.url}/b", "http://other.example/")[2])

    read_again(source)

    assert source.added == 2
    assert source.note.startswith("2 refused: 'nonsense' is not a URL")
    assert "http://other.example/ is outside the scope" in source.note
    ended.refresh_from_db()
    assert ended.state == "queued"
    assert paths(work_off(ended), site) == {"/", "/a", "/b"}
    there = sorted(
        path.name.split("-", 1)[-1] for path in (folder_of(ended.crawl) / READ).iterdir()
    )
    assert there == ["one.txt", "one.txt.refused.txt", "two.json", "two.json.refused.txt"]
    assert read_again(source).added == 2


def test_files_that_are_no_whole_seed_files_are_left_or_refused(ended, site, tmp_path):
    source = create_source(ended.crawl, SeedSourceFields("folder", minutes=1), by=None)
    put(ended.crawl, "fresh.txt", f"{site.url}/a", age=0)
    put(ended.crawl, ".hidden.txt", f"{site.url}/a")
    put(ended.crawl, "notes.md", f"{site.url}/a")
    (tmp_path / "secret").write_text(f"{site.url}/a")
    (folder_of(ended.crawl) / "link.txt").symlink_to(tmp_path / "secret")
    put(ended.crawl, "broken.json", '{"items": [' + "[" * 100_000)
    put(ended.crawl, "other.json", '["a list"]')

    read_again(source)

    assert source.added == 0
    assert "broken.json: the document is no JSON" in source.note
    assert "other.json: the document is JSON, but no JSON Feed" in source.note
    left = {path.name for path in folder_of(ended.crawl).iterdir()}
    assert left == {"fresh.txt", ".hidden.txt", "notes.md", "link.txt", READ}


def test_names_that_are_no_text_and_addresses_with_a_nul_are_told(ended, identified):
    source = create_source(ended.crawl, SeedSourceFields("folder", minutes=1), by=None)
    put(ended.crawl, os.fsdecode(b"caf\xe9.json"), '["a list"]')
    put(ended.crawl, f"{'a' * 251}.txt", "http://other.example/\0a")

    read_again(source)

    assert "caf?.json: the document is JSON, but no JSON Feed" in source.note
    assert "http://other.example/%00a is outside the scope" in source.note
    assert [path.name for path in folder_of(ended.crawl).iterdir()] == [READ]


def test_new_entries_of_a_feed_become_seeds_at_its_next_reading(transactional_db, order, make_site):
    site = make_site(PAGES)
    crawl = create_crawl(order(f"{site.url}/", headers={"X-Key": "secret"}))
    site.pages["/feed.json"] = feed(f"{site.url}/a")
    source = create_source(crawl, SeedSourceFields("feed", f"{site.url}/feed.json"), by=None)

    assert read_again(source).added == 1
    site.pages["/feed.json"] = feed("/b", f"{site.url}/a")
    assert (read_again(source).added, source.note) == (2, "")

    crawl.refresh_from_db()
    assert crawl.seeds == [f"{site.url}{path}" for path in ("/", "/a", "/b")]
    assert source.next_at - source.read_at == timedelta(minutes=60)
    assert not any("X-Key" in request.headers for request in site.log)
    assert [request.path for request in site.log].count("/feed.json") == 2


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((404, {}, "gone"), "404 Not Found."),
        (
            (200, {"Content-Type": "text/html"}, "<p>hello"),
            "No start URLs: the document is neither RSS nor Atom nor a JSON Feed.",
        ),
        ((301, {"Location": "/moved.json"}, ""), "make that the address of the feed"),
        ((301, {"Location": "/feed.json"}, ""), "It redirects to no other address."),
    ],
)
def test_what_is_wrong_with_a_feed_is_said_and_it_is_read_again(
    transactional_db, order, make_site, answer, sentence
):
    site = make_site({"/feed.json": answer})
    crawl = create_crawl(order(f"{site.url}/"))
    source = create_source(crawl, SeedSourceFields("feed", f"{site.url}/feed.json"), by=None)

    read_again(source)

    assert sentence in source.note
    assert source.next_at > timezone.now()
    site.pages["/feed.json"] = feed(f"{site.url}/a")
    assert (read_again(source).added, source.note) == (1, "")


def test_a_run_stays_ended_if_the_source_is_not_to_resume_it(ended, site):
    fields = SeedSourceFields("folder", minutes=1, resume=False)
    source = create_source(ended.crawl, fields, by=None)
    put(ended.crawl, "one.txt", f"{site.url}/a")

    assert read_again(source).added == 1
    ended.refresh_from_db()
    assert ended.state == "finished"


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_a_run_that_was_stopped_or_failed_is_resumed_by_no_source(ended, site, state):
    Run.objects.filter(pk=ended.pk).update(state=state)
    source = create_source(ended.crawl, SeedSourceFields("folder", minutes=1), by=None)
    put(ended.crawl, "one.txt", f"{site.url}/a")

    assert read_again(source).added == 1
    ended.refresh_from_db()
    assert ended.state == state


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_kept(ended, settings):
    settings.SEED_DIR = "/dev/null/seeds"

    with pytest.raises(BadOrder, match="cannot be made: Not a directory; see SEED_DIR"):
        create_source(ended.crawl, SeedSourceFields("folder"), by=None)
    assert not SeedSource.objects.exists()


def test_a_source_that_is_due_has_one_job(ended, queue):
    source = create_source(ended.crawl, SeedSourceFields("folder"), by=None)
    assert due_sources() == [source.pk]
    request_due_jobs()
    request_due_jobs()
    (job,) = BackgroundJob.objects.filter(kind=SEED_SOURCE.name)
    assert not SEED_SOURCE.job.enqueue_if_lost(job.pk)

    read_source(source.pk)
    assert due_sources() == []


def test_mistakes_are_told_by_field_and_a_source_is_made_once(ended):
    for fields, name in (
        (SeedSourceFields("mail"), "kind"),
        (SeedSourceFields("feed", "gopher://a.test/"), "url"),
        (SeedSourceFields("feed", "https://a.test/feed", minutes=4), "minutes"),
        (SeedSourceFields("folder", "/etc"), "url"),
    ):
        with pytest.raises(BadOrder) as refused:
            create_source(ended.crawl, fields, by=None)
        assert list(refused.value.errors) == [name]
    create_source(ended.crawl, SeedSourceFields("folder"), by=None)
    with pytest.raises(WrongState, match="has that source already"):
        create_source(ended.crawl, SeedSourceFields("folder"), by=None)


def test_the_page_programs_and_the_command_line_do_the_same(ended, capsys):
    crawl, operator = ended.crawl, browser("operator")
    page, path = (
        reverse("crawling:seeds", args=[crawl.pk]),
        f"/api/v1/crawls/{crawl.pk}/seed-sources",
    )
    make = reverse("crawling:create_seed_source", args=[crawl.pk])

    refused = soup(operator.post(make, {"kind": "feed", "url": "x y", "minutes": "many"}))
    assert len(refused.select("form [role=alert]")) == 2
    assert (refused.select_one("#url")["value"], refused.select_one("#minutes")["value"]) == (
        "x y",
        "many",
    )
    operator.post(
        make, {"kind": "feed", "url": "a.test/feed.json", "minutes": "30", "resume": "on"}
    )
    made = operator.post(path, {"kind": "folder"}, content_type="application/json").json()
    assert made["folder"] == str(folder_of(crawl))

    shown = soup(operator.get(page)).select_one("#sources ~ .scroll").get_text(" ", strip=True)
    assert "https://a.test/feed.json" in shown
    assert str(folder_of(crawl)) in shown
    call_command("crawl", "seed-sources", str(crawl.pk), "--json")
    printed = json.loads(capsys.readouterr().out)
    listed = operator.get(path).json()["items"]
    assert [row["id"] for row in printed] == [row["id"] for row in listed]
    assert printed[0].keys() == listed[0].keys()
    with pytest.raises(CommandError, match="minutes: must be from 5"):
        call_command("crawl", "seed-sources", str(crawl.pk), "--feed", "b.test/f", "--minutes", "2")

    call_command("crawl", "seed-sources", str(crawl.pk), "--remove", str(made["id"]))
    (left,) = operator.get(path).json()["items"]
    operator.post(reverse("crawling:remove_seed_source", args=[crawl.pk, left["id"]]))
    assert operator.get(path).json()["items"] == []


def test_a_source_whose_readings_are_killed_waits_longer_each_time(ended, monkeypatch):
    source = create_source(ended.crawl, SeedSourceFields("folder", minutes=1), by=None)

    def killed(folder):
        raise KeyboardInterrupt

    waits = []
    with monkeypatch.context() as during:
        during.setattr(reading, "waiting_files", killed)
        for _ in range(14):
            SeedSource.objects.update(next_at=timezone.now())
            began = timezone.now()
            with pytest.raises(KeyboardInterrupt):
                read_source(source.pk)
            source.refresh_from_db()
            assert due_sources() == []
            waits.append(round((source.next_at - began).total_seconds() / 60))

    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440, 1440]
    assert "was killed before its end" in source.note
    read_again(source)
    assert (source.unended, source.note) == (0, "")
    assert source.next_at - source.read_at == timedelta(minutes=1)
