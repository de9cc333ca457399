"""Problems are counted by a background job; two runs show which are new and which were mended."""

from __future__ import annotations

import django_rq
import pytest
from django.core.cache import cache

from crawling.datasets.catch_up import catch_up
from crawling.datasets.second_reading import read_run_again
from crawling.jobs.enqueue import open_job
from crawling.jobs.rq_jobs import IDLE
from crawling.jobs.running import OTHERS_WAIT, run_job
from crawling.models import BackgroundJob, LinksPart, Run
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.start import start_run
from crawling.uses.link_check import link_check, problem_counts
from crawling.uses.link_check.jobs import PROBLEM_COUNTS
from crawling.uses.link_check.link_check import list_problems
from crawling.uses.link_check.problem_counts import counts_of
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.link_check.trend import count_broken
from tests.crawling.conftest import do_shifts
from tests.crawling.pages import browser, soup
from tests.stack import background_queue

BEFORE = {
    "/": "<title>Home</title><a href='/gone'>g</a> <a href='/lost'>l</a> <a href='/a#x'>a</a>",
    "/a": "<p>no title</p>",
}
AFTER = {
    "/": "<title>Home</title><a href='/lost'>l</a> <a href='/a#x'>a</a> <a href='/away'>w</a>",
    "/a": "<title>A</title><p id=x>now there</p>",
}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve(dict(BEFORE))
    old = crawl_once(f"{site.url}/")
    return site, *shared.do(read_twice, site, old)


def read_twice(site, old):
    site.pages |= AFTER
    new = do_shifts(start_run(old.crawl))
    for run in (old, new):
        catch_up(run.pk)
        read_run_again(run.pk)
    return old.pk, new.pk


@pytest.fixture
def runs(crawled, db):
    """Two runs of a site that was mended in between; the site stands first."""
    site, old, new = crawled
    return site, Run.objects.get(pk=old), Run.objects.get(pk=new)


@pytest.fixture
def queue():
    cache.clear()
    with background_queue():
        yield django_rq.get_queue(IDLE)


def numbers(run):
    return {str(kind): count.problems for kind, count in counts_of(run).items()}


def test_each_kind_is_counted_once_pages_are_read_and_shown_on_its_tab(runs, queue):
    _, run, _ = runs
    page = f"/crawls/{run.crawl_id}/links/?run=1"
    viewer = browser("viewer")
    uncounted = soup(viewer.get(page)).select("nav[aria-label='Kinds of problem'] .number")
    told = [count.get_text(" ", strip=True) for count in uncounted]
    assert told == ["not counted yet –"] * len(ProblemKind)

    read_run_again(run.pk)
    asked = BackgroundJob.objects.get(kind=PROBLEM_COUNTS.name, run=run)
    assert queue.fetch_job(f"job-{asked.pk}").perform() == "counted"

    listed = {str(kind): len(list_problems(run, kind, most=50)[0]) for kind in ProblemKind}
    assert numbers(run) == listed
    assert (listed["broken"], listed["title"], listed["fragment"]) == (2, 1, 1)
    tabs = soup(viewer.get(page)).select("nav[aria-label='Kinds of problem'] a")
    assert tabs[0].get_text(" ", strip=True) == "Broken 2"
    told = viewer.get(f"/api/v1/crawls/{run.crawl_id}/reports/problems?run=1").json()["counts"]
    assert {row["kind"]: row["problems"] for row in told} == listed
    counts = BackgroundJob.objects.filter(kind=PROBLEM_COUNTS.name, run=run)
    assert counts.get() == asked  # pages ask for none


def test_what_changes_the_problems_has_them_counted_anew(make_site, crawl_to_the_end, queue):
    run = crawl_to_the_end(f"{make_site(BEFORE).url}/")
    catch_up(run.pk)
    read_run_again(run.pk)
    run_job(open_job(PROBLEM_COUNTS, run, by=None).pk)
    LinksPart.objects.filter(run=run).update(read_at=None)

    assert numbers(run) == {}

    run_job(open_job(PROBLEM_COUNTS, run, by=None).pk)
    assert numbers(run).keys() == set(ProblemKind) - {"fragment", "malformed", "html"}
    Run.objects.filter(pk=run.pk).update(state="running", finished_at=None)
    assert numbers(Run.objects.get(pk=run.pk)) == {}
    assert run_job(open_job(PROBLEM_COUNTS, run, by=None).pk) == "it is no longer wanted"


def test_more_than_are_counted_are_told_as_so_many_or_more(runs, queue, monkeypatch):
    _, run, _ = runs
    monkeypatch.setattr(problem_counts, "MOST_COUNTED", 1)
    run_job(open_job(PROBLEM_COUNTS, run, by=None).pk)

    page = soup(browser("viewer").get(f"/crawls/{run.crawl_id}/links/?run=1"))

    assert page.select_one("nav[aria-label='Kinds of problem'] .number").text.strip() == "1+"


def test_the_list_of_kinds_begins_with_the_worst_and_folds_those_without_problems(runs, queue):
    _, run, _ = runs
    run_job(open_job(PROBLEM_COUNTS, run, by=None).pk)
    counts = counts_of(run)

    page = soup(browser("viewer").get(f"/crawls/{run.crawl_id}/links/?run=1"))

    side = page.select_one("nav[aria-label='Kinds of problem']")
    folded = [link.contents[0].strip() for link in side.select("details a")]
    clean = {kind.label for kind, one in counts.items() if not one.problems and kind != "broken"}
    assert len(folded) == len(clean)
    assert set(folded) == clean
    listed = [link for link in side.select("a") if not link.find_parent("details")]
    told = [(link["title"], link.select_one(".number").text.strip()) for link in listed]
    places = ["Error", "Warning", "Notice"]
    assert told == sorted(told, key=lambda one: (places.index(one[0]), -int(one[1])))
    assert listed[0]["aria-current"] == "page"
    assert page.select_one("h2#list").text.strip() == listed[0].contents[0].strip()


def test_two_runs_show_which_problems_are_new_and_which_were_mended(runs, queue, monkeypatch):
    site, _, new = runs
    viewer, page = browser("viewer"), f"/crawls/{new.crawl_id}/links/"

    def shown(**asked):
        rows = soup(viewer.get(page, asked)).select("table.stacked tbody th .url")
        return [row.text.removeprefix(site.url) for row in rows]

    def told(**asked):
        answer = viewer.get(f"/api/v1/crawls/{new.crawl_id}/reports/problems", asked)
        return [row["url"].removeprefix(site.url) for row in answer.json()["items"]]

    assert shown() == told() == ["/lost", "/away"]
    assert shown(change="new") == told(against=1, change="new") == ["/away"]
    assert shown(change="mended") == told(against=1, change="mended") == ["/gone"]
    assert shown(change="mended", kind="title") == ["/a"]
    assert shown(change="mended", kind="fragment") == ["/a#x"]
    assert "had not" in viewer.get(page, {"change": "new", "kind": "title"}).content.decode()
    assert not soup(viewer.get(page, {"run": 1})).select("nav[aria-label^='Compared']")
    links = soup(viewer.get(f"/crawls/{new.crawl_id}/compare/")).select("main a")
    (compared,) = [link["href"] for link in links if link.text == "Problems compared"]
    assert shown_of(viewer.get(compared)) == [f"{site.url}/away"]

    monkeypatch.setattr(link_check, "MOST_COMPARED", 1)
    assert "too many to be compared" in viewer.get(page, {"change": "new"}).content.decode()
    answer = viewer.get(f"/api/v1/crawls/{new.crawl_id}/reports/problems", {"against": 1})
    assert answer.status_code == 409


def shown_of(answer):
    return [row.text for row in soup(answer).select("table.stacked tbody th .url")]


def test_changed_problems_come_in_pages(make_site, crawl_to_the_end, work_off):
    site = make_site({"/": "".join(f"<a href='/{n}'>l</a>" for n in range(5))})
    old = crawl_to_the_end(f"{site.url}/")
    site.pages |= {"/": "none"}
    new = work_off(start_run(old.crawl))
    for run in (old, new):
        catch_up(run.pk)
    api = f"/api/v1/crawls/{new.crawl_id}/reports/problems?against=1&change=mended&limit=3"
    viewer = browser("viewer")

    first = viewer.get(api).json()
    second = viewer.get(f"{api}&cursor={first['next']}").json()

    urls = [row["url"] for page in (first, second) for row in page["items"]]
    assert sorted(urls) == [f"{site.url}/{n}" for n in range(5)]
    assert (len(first["items"]), second["next"]) == (3, None)
    assert viewer.get(f"{api}&cursor=x").status_code == 422


def test_a_share_link_shows_the_numbers_and_the_problems_of_a_kind(runs, queue, client):
    site, _, run = runs
    run_job(open_job(PROBLEM_COUNTS, run, by=None).pk)
    _, token = create_share_link(run.crawl, days=1, by=None)
    report = f"/shared/{token}/"

    broken = soup(client.get(report)).select_one("section[aria-labelledby=check] tbody a")
    listed = soup(client.get(report + broken["href"]))

    assert broken["href"] == "?kind=broken"
    assert broken.find_parent("tr").get_text(" ", strip=True) == "Broken 2"
    rows = [row.get_text(" ", strip=True) for row in listed.select("tbody tr")]
    assert rows[0].startswith(f"{site.url}/lost 404 Not Found 1 {site.url}/")
    assert not listed.select("main a[href^='/']")
    assert "No problem of this kind" in client.get(f"{report}?kind=slow").content.decode()
    assert soup(client.get(f"{report}?kind=odd")).select_one("section[aria-labelledby=check]")


def test_broken_links_have_one_number_and_what_is_not_counted_says_why(runs, queue):
    _, run, _ = runs

    viewer = browser("viewer")

    def side():
        page = soup(viewer.get(f"/crawls/{run.crawl_id}/links/?run=1"))
        kinds = page.select_one("nav[aria-label='Kinds of problem']")
        return kinds.a.get_text(" ", strip=True), kinds.select("p.sub"), page

    count_broken(run)
    first, why, page = side()
    assert first == "Broken 2"
    assert "2 broken links in run 1" in " ".join(page.select_one("#broken-links").text.split())
    assert "are not counted yet. Their count waits for other jobs." in why[0].text
    BackgroundJob.objects.filter(kind=PROBLEM_COUNTS.name, run=run).update(waits=OTHERS_WAIT)
    assert "Their count: it waits until others have" in side()[1][0].text
    poll = why[0]["hx-get"]
    assert "hx-target" not in soup(viewer.get(poll)).p.attrs
    run_job(BackgroundJob.objects.get(kind=PROBLEM_COUNTS.name, run=run).pk)
    assert soup(viewer.get(poll)).p["hx-target"] == "#main"
    first, why, _ = side()
    assert (first, why) == ("Broken 2", [])
