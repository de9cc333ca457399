"""The links of a run's pages lie beside the archive, each once, whatever was lost on the way."""

from __future__ import annotations

import json

import django_rq
import pytest
from django.conf import settings
from django.core.management import call_command

from crawling.datasets import catch_up as job
from crawling.datasets import parts
from crawling.datasets.catch_up import catch_up
from crawling.datasets.jobs import LINKS, SECOND_READING
from crawling.datasets.part_writer import PartWriter
from crawling.datasets.parts import collected_parts, count_pages_behind, drop_dataset, lost_parts
from crawling.datasets.query import LinkSearchTookTooLong, query_links
from crawling.jobs.due_jobs import request_due_jobs
from crawling.jobs.rq_jobs import IDLE
from crawling.models import BackgroundJob, LinksPart, Page, Run
from crawling.runs.housekeeping.deletion import delete_crawl, restore_run
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.uses.link_check import reports
from tests.crawling.pages import browser

PAGE = """<title>t</title><link rel=canonical href="/">
<nav><a href="/a#top" rel="nofollow  Next">A  <b>page</b></a> <a href="/a#top">again</a></nav>
<main><p><a href="/b"><img src="/i.png" alt="An image"></a> <a href="/b">B</a>
<a href="mailto:x@example.org">mail</a></main><a href="/moved">elsewhere</a>
<a href="/gone">=gone</a>"""
ALL = (
    "SELECT page, target, fragment, element, attribute, rel, anchor, place FROM links "
    "ORDER BY page_id, position"
)
EXPECTED = [
    ("/", "/", "", "link", "href", "canonical", "", ""),
    ("/", "/a", "top", "a", "href", "nofollow next", "A page", "nav"),
    ("/", "/b", "", "a", "href", "", "B", "main"),
    ("/", "/moved", "", "a", "href", "", "elsewhere", ""),
    ("/", "/gone", "", "a", "href", "", "=gone", ""),
    ("/", "/i.png", "", "img", "src", "", "An image", "main"),
    ("/a", "/", "", "a", "href", "", "home", ""),
    ("/moved", "/a", "", "", "location", "", "", ""),
]


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(
        {
            "/": PAGE,
            "/a": "<a href='/'>home</a>",
            "/b": "no links",
            "/moved": (301, {"Location": "/a"}, ""),
        }
    )


@pytest.fixture(scope="module")
def crawled(site, crawl_once):
    return crawl_once(f"{site.url}/")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def links_of(site, run):
    return [tuple(value.removeprefix(site.url) for value in row) for row in query_links(run, ALL)]


def test_a_crawl_collects_all_links_with_text_relation_and_place(site, run, monkeypatch):
    assert links_of(site, run) == []
    assert count_pages_behind(run) == Page.objects.count() == 5
    monkeypatch.setattr(parts, "MOST_BEHIND", 3)
    assert count_pages_behind(run) == 3  # or more
    assert [part.run for part in collected_parts()] == [run]

    catch_up(run.pk)

    assert links_of(site, run) == EXPECTED
    assert count_pages_behind(run) == 0
    catch_up(run.pk)
    assert links_of(site, run) == EXPECTED
    assert not collected_parts()


def test_links_that_were_lost_with_a_shift_are_read_from_the_archive(
    site, order, crawl_to_the_end, monkeypatch
):
    with monkeypatch.context() as killed:
        killed.setattr(PartWriter, "write", lambda self: None)
        run = crawl_to_the_end(f"{site.url}/")
    assert [part.run for part in lost_parts()] == [run]

    catch_up(run.pk)

    assert links_of(site, run) == EXPECTED
    assert not lost_parts()


def test_a_run_that_was_deleted_and_restored_has_its_links(site, run):
    catch_up(run.pk)
    remove_run(run, by=None)
    remove_rows()

    restored = restore_run(run.pk, by=None)

    assert links_of(site, restored) == EXPECTED


def test_a_rebuilding_that_was_killed_continues_and_doubles_nothing(site, run, monkeypatch):
    catch_up(run.pk)
    drop_dataset(run.pk)
    assert links_of(site, run) == []
    monkeypatch.setattr(job, "SLICE", 2)

    def killed(pages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catch_up(run.pk, note=killed)
    assert count_pages_behind(run) == 3
    call_command("links", "catch-up", str(run.crawl_id))

    assert links_of(site, run) == EXPECTED


def test_two_jobs_at_the_same_pages_write_them_once(site, run, monkeypatch):
    drop_dataset(run.pk)
    put = job.put_part

    def late(name, rows):
        monkeypatch.setattr(job, "put_part", put)
        catch_up(run.pk)
        return put(name, rows)

    monkeypatch.setattr(job, "put_part", late)
    catch_up(run.pk)

    assert links_of(site, run) == EXPECTED
    assert LinksPart.objects.filter(links__gt=0).count() == 1
    assert len(list((settings.ARCHIVE_DIR / f"links{run.pk}").iterdir())) == 1


def test_what_was_collected_too_late_does_not_count(site, run, monkeypatch):
    (part,) = collected_parts()
    pages = list(Page.objects.filter(links_part=part.pk))
    LinksPart.objects.update(collected_at=None)  # as if its shift were about to store it
    catch_up(run.pk)
    writer = PartWriter(run.pk, part.shift)
    writer._part, writer._pages = part, []
    writer.write()

    assert links_of(site, run) == EXPECTED
    assert len(pages) == 5
    assert not collected_parts()


def test_the_links_of_a_run_go_with_it(run):
    catch_up(run.pk)
    folder = settings.ARCHIVE_DIR / f"links{run.pk}"
    (folder / "left-by-a-killed-job.parquet").touch()

    delete_crawl(run.crawl, by=None, for_good=True)

    assert not LinksPart.objects.exists()
    assert not folder.exists()


def test_a_question_that_takes_too_long_is_broken_off(run):
    catch_up(run.pk)

    with pytest.raises(LinkSearchTookTooLong):
        query_links(run, "SELECT count(*) FROM range(100000000) a, range(100000) b", seconds=0.05)


@pytest.mark.parametrize(
    "query",
    ["SELECT * FROM read_text('/etc/passwd')", "INSTALL httpfs", "ATTACH '/tmp/x.db'"],
)
def test_a_question_reaches_nothing_but_the_parts(run, query):
    with pytest.raises(Exception, match="Permission"):
        query_links(run, query)


def test_json_pages_and_command_tell_the_same(site, run, capsys, monkeypatch):
    catch_up(run.pk)
    viewer = browser("viewer")

    def api(run, path, **parameters):
        return viewer.get(f"/api/v1/crawls/{run.crawl_id}/{path}", parameters).json()

    back = api(run, "links", target=f"{site.url}/a")
    assert [(row["page"], row["anchor"], row["place"]) for row in back["items"]] == [
        (f"{site.url}/", "A page", "nav"),
        (f"{site.url}/moved", "", ""),
    ]
    first = api(run, "links", page=f"{site.url}/", limit=2)
    assert len(first["items"]) == 2
    rest = api(run, "links", page=f"{site.url}/", cursor=first["next"])
    assert [row["target"].removeprefix(site.url) for row in first["items"] + rest["items"]] == [
        row[1] for row in EXPECTED[:6]
    ]

    broken = api(run, "reports/broken-links")
    assert [(row["url"], row["status"], row["links"]) for row in broken["items"]] == [
        (f"{site.url}/gone", 404, 1)
    ]
    assert broken["items"][0]["sources"][0]["anchor"] == "=gone"
    (image,) = api(run, "reports/media")["items"]
    assert (image["url"], image["text"], image["without_text"], image["status"]) == (
        f"{site.url}/i.png", "An image", 0, None,
    )  # fmt: skip
    for most in (100, 1):  # counted in one pass and in many
        monkeypatch.setattr(reports, "MOST_COUNTED_LINKS", most)
        (host,) = api(run, "reports/hosts")["items"]
        assert (host["host"], host["links"], host["targets"]) == (site.url.partition("//")[2], 8, 6)
    assert api(run, "links", page="no URL")["detail"]

    call_command("links", "list", str(run.crawl_id), "--json")
    assert json.loads(capsys.readouterr().out.splitlines()[0])["page"] == f"{site.url}/"


def test_a_background_job_writes_what_shifts_have_collected(site, run):
    queue = django_rq.get_queue(IDLE)
    queue.empty()

    request_due_jobs()
    request_due_jobs()

    job = BackgroundJob.objects.get(kind=LINKS.name)
    assert queue.job_ids == [f"job-{job.pk}"]
    queue.fetch_job(f"job-{job.pk}").perform()
    assert links_of(site, run) == EXPECTED
    # of a run that has ended, what comes next is asked for at once
    following = BackgroundJob.objects.get(kind=SECOND_READING.name, ended_at=None)
    assert queue.fetch_job(f"job-{following.pk}").get_status() == "queued"
    queue.empty()
