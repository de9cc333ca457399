"""Data that are not derived yet are told as missing: how much, why, and until when about."""

from __future__ import annotations

from datetime import timedelta
from xml.etree.ElementTree import fromstring

import django_rq
import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from crawling.datasets import catch_up as catch_up_module
from crawling.datasets.catch_up import catch_up
from crawling.datasets.jobs import LINKS, SECOND_READING
from crawling.datasets.lag import Derived, lag_of
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import end_job
from crawling.jobs.rq_jobs import IDLE, is_first_job_waiting
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, Run
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.shift_lifecycle import settle_run
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end
from tests.stack import background_queue

PAGES = {
    "/": "<title>Home</title><p>lighthouse</p><a href='/gone'>g</a> <a href='/a'>a</a>",
    "/a": "<title>A</title><p>lighthouse</p><a href='/gone'>again</a>",
}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    return crawl_once(f"{shared.serve(PAGES).url}/", name="Atlas")


@pytest.fixture
def run(crawled, db):
    cache.clear()
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def queue():
    with background_queue():
        idle = django_rq.get_queue(IDLE)
        idle.empty()
        yield idle


@pytest.fixture
def viewer(run):
    return browser("viewer")


def words_of(page, chosen):
    return [" ".join(one.get_text(" ", strip=True).split()) for one in page.select(chosen)]


def test_links_that_are_not_counted_are_not_shown_as_none(run, viewer):
    page, api = f"/crawls/{run.crawl_id}/links/", f"/api/v1/crawls/{run.crawl_id}/reports/problems"

    shown, told = soup(viewer.get(page)), viewer.get(api).json()

    (lag,) = words_of(shown, ".lag")
    assert lag.startswith("Links: 3 of 3 pages are not counted yet.")
    assert shown.select_one(".lag progress")["value"] == "0"
    assert words_of(shown, "td[data-head=Links]") == ["–"]
    assert (told["behind"], told["complete"], told["items"][0]["links"]) == (3, False, None)
    assert {words_of(shown, "nav[aria-label='Kinds of problem'] a")[0]} == {
        "Broken not counted yet –"
    }

    catch_up(run.pk)
    shown, told = soup(viewer.get(page)), viewer.get(api).json()

    assert not shown.select(".lag")
    assert words_of(shown, "td[data-head=Links]") == ["2"]
    assert (told["behind"], told["complete"], told["items"][0]["links"]) == (0, True, 2)


@pytest.mark.parametrize(
    ("page", "empty"),
    [
        ("links/?kind=fragment", "– Not known yet: not all pages of this run are checked."),
        ("structured-data/", "– Not known yet: not all pages of this run are read."),
    ],
)
def test_an_empty_list_that_is_not_complete_is_not_called_empty(run, viewer, page, empty):
    catch_up(run.pk)

    shown = soup(viewer.get(f"/crawls/{run.crawl_id}/{page}"))

    assert empty in words_of(shown, ".empty")
    (lag,) = words_of(shown, ".lag")
    assert "2 of 3 pages are not read yet" in lag or "3 of 3 pages are not read yet" in lag


def test_the_search_says_how_many_pages_are_not_indexed(run, viewer, capsys):
    def search():
        told = viewer.get("/api/v1/search?q=lighthouse").json()
        return told["behind"], told["complete"], told["count"]

    assert search() == (3, False, 0)
    shown = soup(viewer.get("/search/text/?q=lighthouse"))
    assert "Search index: 3 of 3 pages are not indexed yet." in words_of(shown, ".lag")[0]
    assert words_of(shown, "#found")[0].startswith("No page so far")
    call_command("crawl", "search", "lighthouse")
    assert "3 of 3 pages are not indexed yet" in capsys.readouterr().err

    catch_up(run.pk)
    read_to_the_end(run)

    assert search() == (0, True, 2)
    assert not soup(viewer.get("/search/text/?q=lighthouse")).select(".lag")


def test_files_that_are_not_complete_say_so_in_name_and_header(run, viewer):
    addresses = [
        f"/crawls/{run.crawl_id}/{name}"
        for name in ("link-check.csv", "link-check.xml", "structured-data.jsonl")
    ]

    def told():
        found = set()
        for answer in map(viewer.get, addresses):
            b"".join(answer.streaming_content)
            name = answer["Content-Disposition"]
            found.add((answer.get("Complete"), "-incomplete." in name))
        return found

    assert told() == {("false", True)}
    catch_up(run.pk)
    read_to_the_end(run)
    assert told() == {(None, False)}


def test_a_junit_report_that_is_not_complete_says_so_and_passes_nothing(run, viewer):
    def suites():
        answer = viewer.get(f"/crawls/{run.crawl_id}/link-check.xml")
        report = fromstring(b"".join(answer.streaming_content))
        return {one.get("name"): one for one in report.findall("testsuite")}

    def told(suite):
        facts = {one.get("name"): one.get("value") for one in suite.iter("property")}
        return facts.get("complete"), facts.get("behind"), len(suite.findall(".//skipped"))

    assert told(suites()["broken"]) == ("false", "3", 0)
    assert told(suites()["fragment"]) == ("false", "3", 1)
    assert suites()["fragment"].find(".//skipped").get("message") == (
        "Texts: 3 of 3 pages are not read yet"
    )

    catch_up(run.pk)
    assert told(suites()["broken"]) == (None, None, 0)
    read_to_the_end(run)
    assert {told(one) for one in suites().values()} == {(None, None, 0)}


def test_a_shared_report_tells_what_its_link_check_lacks(run, queue):
    _, token = create_share_link(run.crawl, days=1, by=None)

    def check():
        card = soup(Client().get(f"/shared/{token}/")).select_one("section[aria-labelledby=check]")
        return words_of(card, ".lag"), words_of(card, "tbody td")

    lag, counts = check()
    assert "pages are not read yet" in lag[0]
    assert set(counts) == {"not counted yet –"}
    problems = soup(Client().get(f"/shared/{token}/?kind=broken"))
    assert words_of(problems, "td[data-head=Links]") == ["–"]

    catch_up(run.pk)
    read_to_the_end(run)
    counting = BackgroundJob.objects.get(kind="problem-counts", run=run)
    queue.empty()  # no worker is there for what was put first
    assert run_job(counting.pk) == "counted"

    assert (check()[0], check()[1][0]) == ([], "1")


def test_the_lag_tells_until_when_about_by_the_rate_of_earlier_jobs(run):
    catch_up(run.pk)
    assert lag_of(run, Derived.TEXTS).until is None
    spent = {"done": 1, "seconds": 30.0}
    BackgroundJob.objects.create(kind=SECOND_READING.name, ended_at=timezone.now(), progress=spent)

    lag = lag_of(run, Derived.TEXTS)

    assert lag.prospect in ("Complete in about 1 minute", "Complete in less than a minute")
    seconds = (lag.until - timezone.now()).total_seconds()
    assert seconds == pytest.approx(30 * lag.behind, abs=5)


@pytest.fixture
def reading(run):
    """An open job that reads the pages of the run, by whose kind a page has taken ten seconds."""
    catch_up(run.pk)
    spent = {"done": 10, "seconds": 100.0}
    BackgroundJob.objects.create(kind=SECOND_READING.name, ended_at=timezone.now(), progress=spent)
    return open_job(SECOND_READING, run, by=None)


def asked_ago(job, seconds, **fields):
    asked_at = timezone.now() - timedelta(seconds=seconds)
    BackgroundJob.objects.filter(pk=job.pk).update(asked_at=asked_at, **fields)


def test_the_time_is_told_anew_as_it_passes(run, reading):
    def told(seconds, **fields):
        asked_ago(reading, seconds, **fields)
        return lag_of(run, Derived.TEXTS).prospect

    assert told(1) == "Complete in less than a minute"
    # nothing is done after two minutes: it will not be done within one
    assert told(120, began_at=timezone.now()) == "Complete in about 2 minutes"
    # a page in five minutes, and two are left
    assert told(300, progress={"done": 1, "seconds": 10}) in (
        *(f"Complete in about {minutes} minutes" for minutes in (10, 15)),
    )


def test_a_job_that_waits_for_those_of_other_crawls_says_so(run, reading):
    other = BackgroundJob.objects.create(
        kind=SECOND_READING.name, subject="another", began_at=timezone.now()
    )
    asked_ago(reading, 1)
    assert lag_of(run, Derived.TEXTS).prospect == "Complete in less than a minute"

    asked_ago(reading, 120)
    lag = lag_of(run, Derived.TEXTS)
    assert (lag.prospect, lag.until) == ("Waits for readings of other crawls", None)

    end_job(other, {})
    assert lag_of(run, Derived.TEXTS).prospect == "Complete in about 2 minutes"


def test_what_no_job_will_add_is_not_promised(run):
    catch_up(run.pk)
    run.links_parts.update(machine="elsewhere")

    lag = lag_of(run, Derived.STRUCTURED_DATA)

    assert (lag.state, lag.complete, lag.until) == ("stopped", False, None)
    assert lag.prospect == "Their archive is on another machine, or was not kept"


def test_a_run_that_is_looked_at_comes_first(
    run, viewer, queue, django_capture_on_commit_callbacks
):
    catch_up(run.pk)
    SECOND_READING.job.enqueue(-1)
    SECOND_READING.job.enqueue(-2)

    with django_capture_on_commit_callbacks(execute=True):
        viewer.get(f"/crawls/{run.crawl_id}/structured-data/")

    mine = BackgroundJob.objects.get(kind=SECOND_READING.name, run=run)
    assert queue.job_ids[-3:] == [f"job-{mine.pk}", "job--1", "job--2"]
    assert is_first_job_waiting()


def test_a_view_asks_for_nothing_again_within_seconds(run, viewer, queue):
    catch_up(run.pk)
    viewer.get(f"/crawls/{run.crawl_id}/structured-data/")
    BackgroundJob.objects.all().delete()

    viewer.get(f"/api/v1/crawls/{run.crawl_id}/structured-data")

    assert not BackgroundJob.objects.exists()


def test_a_view_does_not_repeat_a_job_that_has_failed_just_now(run, viewer, queue):
    for kind in (LINKS, SECOND_READING):
        end_job(open_job(kind, run, by=None), trouble="The disk is full.")

    viewer.get(f"/api/v1/crawls/{run.crawl_id}/datasets")
    cache.clear()
    viewer.get(f"/crawls/{run.crawl_id}/links/")

    kinds = (LINKS.name, SECOND_READING.name)
    assert not BackgroundJob.objects.filter(ended_at=None, run=run, kind__in=kinds).exists()


def test_links_of_a_run_that_has_ended_are_written_at_once(
    run, queue, django_capture_on_commit_callbacks
):
    SECOND_READING.job.enqueue(-1)
    end_job(open_job(LINKS, run, by=None), {})  # of the parts before

    with django_capture_on_commit_callbacks(execute=True):
        settle_run(run.pk)

    (links,) = BackgroundJob.objects.filter(kind=LINKS.name, run=run, ended_at=None)
    assert queue.job_ids == [f"job-{links.pk}", "job--1"]
    with django_capture_on_commit_callbacks(execute=True):
        assert run_job(links.pk) == "written"
    assert lag_of(run, Derived.LINKS).complete
    assert BackgroundJob.objects.filter(kind=SECOND_READING.name, run=run, ended_at=None).exists()


def test_a_last_part_that_comes_while_its_links_are_written_is_written_by_the_same_job(
    run, queue, monkeypatch
):
    written, earlier = [], list(run.links_parts.filter(written_at=None))
    run.links_parts.filter(pk=earlier[-1].pk).update(collected_at=None)
    catch_up_once = catch_up_module.catch_up

    def catch_up_then_collect(run_id, **options):
        catch_up_once(run_id, **options) if written else None
        written.append(run_id)
        run.links_parts.filter(pk=earlier[-1].pk, written_at=None).update(
            collected_at=timezone.now()
        )

    monkeypatch.setattr(catch_up_module, "catch_up", catch_up_then_collect)

    assert run_job(open_job(LINKS, run, by=None).pk) == "written"

    assert len(written) == 2
    assert lag_of(run, Derived.LINKS).complete


def test_a_page_that_lags_asks_for_itself_until_all_is_there(run, viewer):
    page = soup(viewer.get(f"/crawls/{run.crawl_id}/links/"))
    address = page.select_one(".lag")["hx-get"]

    assert soup(viewer.get(address)).select_one(".lag")["hx-get"] == address
    catch_up(run.pk)

    (done,) = soup(viewer.get(address)).select(".lag")
    assert (done["hx-get"], done["hx-select"]) == ("", "#main")
