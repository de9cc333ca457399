"""The trend of broken links over the runs of a crawl, and what is told of it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from crawling.datasets.catch_up import catch_up
from crawling.datasets.parts import drop_dataset, new_part
from crawling.frontier import counts_of
from crawling.installation.news import latest_news, pending_news
from crawling.jobs.cancel import cancel_job
from crawling.jobs.job_rows import end_job
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, CrawlJob, LinksPart, RunTotal
from crawling.runs.start import start_run
from crawling.runs.week import CrawlWeeks
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.link_check import tried
from crawling.uses.link_check.jobs import BROKEN_LINKS, LONGEST_WAIT
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.trend import count_broken
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from crawlsite import news
from tests.crawling.pages import browser, soup

BEFORE = {"/": "<a href='/gone'>g</a> <a href='/lost'>l</a> <a href='/a'>a</a>", "/a": "a"}
AFTER = {"/": "<a href='/lost'>l</a> <a href='/a'>a</a> <a href='/away'>w</a> <a href='/off'>o</a>"}


@pytest.fixture
def site(make_site):
    return make_site(BEFORE)


@pytest.fixture
def crawl(site, crawl_to_the_end):
    Listener.objects.create(
        name="Chat", url="https://c.example/", secret="s", events=["links broken", "links fixed"]
    )
    return count(crawl_to_the_end(f"{site.url}/")).crawl


@pytest.fixture
def again(work_off):
    return lambda crawl: count(work_off(start_run(crawl)))


def count(run):
    """Write the run's links, and do the job that its end has asked for."""
    catch_up(run.pk)
    for asked in BackgroundJob.objects.filter(kind=BROKEN_LINKS.name, run=run, ended_at=None):
        run_job(asked.pk)
    return run


def told():
    return [json.loads(one.body) for one in Delivery.objects.order_by("pk")]


@pytest.fixture
def viewer(db):
    return browser("viewer")


def trend(viewer, crawl):
    address = f"/api/v1/crawls/{crawl.pk}/reports/broken-links/trend"
    names = ("run", "against", "broken", "new", "fixed", "still")
    return [tuple(row[name] for name in names) for row in viewer.get(address).json()["items"]]


def test_each_run_says_which_broken_links_are_new_fixed_and_still_there(viewer, crawl, site, again):
    site.pages |= AFTER
    again(crawl)
    again(crawl)

    assert trend(viewer, crawl) == [(3, 2, 3, 0, 0, 3), (2, 1, 3, 2, 1, 1), (1, None, 2, 0, 0, 2)]
    page = soup(viewer.get(f"/crawls/{crawl.pk}/"))
    rows = [row.get_text(" ", strip=True) for row in page.select("#broken-links tbody tr")]
    assert rows == ["3 3 0 0 3 0", "2 3 2 1 1 0", "1 2 – – – 0"]
    assert len(page.select("#broken-links svg rect.new")) == 1
    assert soup(viewer.get(f"/crawls/{crawl.pk}/links/")).select("#broken-links")


def test_links_that_broke_or_were_fixed_are_told_once_and_are_news(viewer, crawl, site, again):
    assert (told(), latest_news(most=9)) == ([], ([], None))
    site.pages |= AFTER
    run = again(crawl)
    count_broken(run)

    broken, fixed = told()
    assert broken["sentence"] == (
        f"2 new broken links since run 1: {site.url}/away, {site.url}/off."
    )
    assert fixed["sentence"] == f"1 broken link fixed since run 1: {site.url}/gone."
    news, _ = latest_news(most=9)
    assert [item.words for item in news] == ["1 broken link fixed", "2 new broken links"]
    listed = soup(viewer.get(news[1].address)).get_text(" ")
    assert f"{site.url}/away" in listed
    assert f"{site.url}/lost" not in listed


def test_what_is_withdrawn_or_deleted_is_told_no_more(viewer, crawl, site, again):
    site.pages |= AFTER
    again(crawl)
    withdraw_pages(crawl, None, kind="page", text=f"{site.url}/away", reason="asked for", by=None)
    assert told() == []

    crawl.runs.filter(number=2).update(removal_asked_at="2026-01-01T00:00Z")
    assert latest_news(most=9) == ([], None)
    assert [row[0] for row in trend(viewer, crawl)] == [1]


def test_a_crawl_in_which_nothing_failed_has_its_zeros_without_a_job(
    viewer, site, crawl_to_the_end, again
):
    site.pages["/"] = "<a href='/a'>a</a>"
    run = count(crawl_to_the_end(f"{site.url}/"))

    assert not BackgroundJob.objects.filter(kind=BROKEN_LINKS.name).exists()
    assert trend(viewer, run.crawl) == [(1, None, 0, 0, 0, 0)]
    site.pages["/"] = "<a href='/a'>a</a> <a href='/off'>o</a>"
    again(run.crawl)
    assert BrokenLinks.objects.get(run__number=2).new == 1


def test_a_run_that_was_stopped_is_compared_with_by_none(viewer, crawl, site, again):
    site.pages |= AFTER
    again(crawl)
    crawl.runs.filter(number=2).update(state="stopped")
    again(crawl)

    assert trend(viewer, crawl)[0] == (3, 1, 3, 2, 1, 1)


def test_what_a_limit_left_untried_is_neither_fixed_nor_new(viewer, site, crawl_to_the_end, again):
    """Run 2 ends before it has tried what run 1 found broken; run 3 tries all again."""
    site.pages["/"] = "".join(f"<a href='/{name}'>{name}</a>" for name in ("lost", "gone", "off"))
    crawl = count(crawl_to_the_end(f"{site.url}/", max_pages=4)).crawl
    crawl.max_pages = 2
    crawl.save()
    again(crawl)
    listed = f"/crawls/{crawl.pk}/links/?run=2&against=1&kind=broken&change=mended"
    fixed = soup(viewer.get(listed)).get_text(" ", strip=True)
    page = soup(viewer.get(f"/crawls/{crawl.pk}/links/?run=2&kind=broken"))
    crawl.max_pages = 4
    crawl.save()
    again(crawl)

    left = [cell.get_text() for cell in page.select("#broken-links tbody td:last-child")]
    assert left == ["2", "0"]
    assert trend(viewer, crawl) == [(3, 2, 3, 0, 0, 1), (2, 1, 1, 0, 0, 1), (1, None, 3, 0, 0, 3)]
    assert (told(), latest_news(most=9)) == ([], ([], None))
    assert f"{site.url}/gone" not in fixed
    shown = " ".join(page.select_one("#broken-links .sub:last-child").get_text().split())
    assert shown == "2 links broken in run 1 were not checked in run 2: it did not try them."
    page = soup(viewer.get(f"/crawls/{crawl.pk}/links/?run=3&kind=broken"))
    shown = " ".join(page.select_one("#broken-links .sub:last-child").get_text().split())
    assert shown == "2 broken links of run 3 were not tried in run 2: neither new nor still there."


def test_a_run_whose_broken_links_are_not_counted_yet_is_not_told_as_a_quiet_one(
    viewer, crawl, site, work_off
):
    run = work_off(start_run(crawl))
    pending = "Run 2 is not compared yet: broken links."

    def shown():
        news = soup(viewer.get("/attention/")).select_one("[aria-labelledby=news]")
        week = soup(viewer.get(f"/crawls/{crawl.pk}/")).select_one("[aria-labelledby=week]")
        return [" ".join(part.get_text().split()) for part in (news, week)]

    for text in shown():
        assert pending in text
        assert "No news" not in text
        assert "no link broke" not in text

    count(run)
    news, week = shown()
    assert pending not in news + week
    assert "No news in the last 30 days." in news
    assert "No watched page changed, and no link broke or was fixed." in week


def test_a_first_run_says_how_many_links_are_broken_and_that_none_is_before_it(viewer, crawl):
    week = soup(viewer.get(f"/crawls/{crawl.pk}/")).select_one("[aria-labelledby=week]")

    assert week.p.get_text() == "2 links are broken; there is no earlier run to compare with."


def test_a_partial_run_without_broken_links_says_how_many_it_has_not_checked(
    viewer, make_site, crawl_to_the_end
):
    site = make_site({"/": "<a href='/a'>a</a><a href='/b'>b</a>", "/a": "a", "/b": "b"})
    crawl = count(crawl_to_the_end(f"{site.url}/", max_pages=1)).crawl
    left = "2 URLs were not fetched before the limit: links to them are not checked."

    page = soup(viewer.get(f"/crawls/{crawl.pk}/?overview"))
    week, card = (
        " ".join(page.select_one(f"[aria-labelledby={one}]").get_text().split())
        for one in ("week", "broken-trend")
    )
    assert "No link is broken" in week
    assert "2 URLs were not fetched: links to them are not checked." in week
    assert f"No broken links among those checked in run 1. {left}" in card.replace(
        "Later runs are compared with it. ", ""
    )
    opened = soup(viewer.get(f"/crawls/{crawl.pk}/links/"))
    assert opened.select_one("h2#list").get_text(strip=True) == "Broken"
    assert "No broken link among 1 checked; 2 not checked." in " ".join(opened.main.text.split())


def test_runs_that_are_not_compared_yet_are_named_wherever_news_are_told(
    viewer, crawl, site, work_off, settings
):
    run = work_off(start_run(crawl))
    words = "Run 2 is not compared yet: broken links."
    cache.delete(news.KEPT_PENDING)

    def told():
        found = viewer.get("/api/v1/news").json()
        feed = Client().get(found["feed"].removeprefix(settings.DASHBOARD_URL.rstrip("/")))
        bell = viewer.get("/attention/count/").json()["pending"]
        home = " ".join(soup(viewer.get("/")).main.get_text().split())
        return found["pending"], words in feed.content.decode(), bell, words in home

    pending = {"crawl": crawl.pk, "name": crawl.name, "run": 2, "labels": ["broken links"]}
    assert told() == ([pending], True, 1, True)

    count(run)
    cache.delete(news.KEPT_PENDING)
    assert told() == ([], False, 0, False)


def test_the_week_says_the_number_of_broken_links_that_links_says(viewer, crawl):
    """An address that failed twice counts once; *Links* lists addresses."""
    RunTotal.objects.update(failed=5)

    week = soup(viewer.get(f"/crawls/{crawl.pk}/")).select_one("[aria-labelledby=week]")
    listed = viewer.get(f"/api/v1/crawls/{crawl.pk}/reports/problems?kind=broken").json()["items"]

    assert week.p.get_text() == "2 links are broken; there is no earlier run to compare with."
    assert len(listed) == trend(viewer, crawl)[0][2] == 2


def test_a_message_says_how_many_links_are_unchecked(site, crawl, again, viewer):
    site.pages |= AFTER
    site.pages["/"] += "<a href='http://elsewhere.test/'>e</a> <a href='/b'>b</a>"
    site.pages |= {f"/{name}": f"<a href='/{name}1'>x</a>" for name in "ab"}
    CrawlJob.objects.filter(pk=crawl.pk).update(max_pages=6)
    run = again(crawl)
    left = counts_of([run.pk])[run.pk].queued
    assert left

    sentence, facts = told()[0]["sentence"], told()[0]["unchecked"]

    assert (facts["queued"], facts["outside"]) == (left, 1)
    assert facts["sentence"] in sentence
    assert "1 address is outside of the crawl's scope and not checked." in sentence
    json_facts = viewer.get(f"/api/v1/crawls/{crawl.pk}/reports/problems").json()["unchecked"]
    assert json_facts == facts
    [week], _ = CrawlWeeks(timezone.now() + timedelta(seconds=1)).of(None, most=1)
    assert week.unchecked == [facts["sentence"]]


@pytest.mark.parametrize("second", ["/b fails", "/b is gone", "/b was not tried"])
def test_a_link_is_fixed_only_once_all_pages_with_it_are_read_or_gone(
    viewer, site, crawl_to_the_end, again, second
):
    """Two pages link to it. The first is gone; of the second the run may not know."""
    link = "<a href='/lost'>l</a>"
    site.pages |= {"/": "<a href='/a'>a</a> <a href='/b'>b</a>", "/a": link, "/b": link}
    crawl = count(crawl_to_the_end(f"{site.url}/", batch_size=1)).crawl
    assert BrokenLinks.objects.get(run__crawl=crawl).broken == 1

    del site.pages["/a"]
    if second == "/b is gone":
        del site.pages["/b"]
    elif second == "/b fails":
        site.pages["/b"] = (403, {}, b"")
    else:
        CrawlJob.objects.filter(pk=crawl.pk).update(max_pages=2)
    again(crawl)

    row, fixed = BrokenLinks.objects.get(run__number=2), second == "/b is gone"
    assert (row.fixed, row.not_tried) == ((1, 0) if fixed else (0, 1))
    asked = {"run": 2, "against": 1, "change": "mended"}
    listed = viewer.get(f"/api/v1/crawls/{crawl.pk}/reports/problems", asked).json()["items"]
    assert [one["url"] for one in listed] == [f"{site.url}/lost"] * fixed


@pytest.fixture
def two_lost(site, crawl_to_the_end):
    """A crawl of two pages with links to the same two addresses, which fail. Of the next run's
    pages one is gone and the other is not read.
    """
    links = "<a href='/lost'>l</a> <a href='/gone'>g</a>"
    site.pages |= {"/": "<a href='/a'>a</a> <a href='/b'>b</a>", "/a": links, "/b": links}
    crawl = count(crawl_to_the_end(f"{site.url}/", batch_size=1)).crawl
    del site.pages["/a"]
    site.pages["/b"] = (403, {}, b"")
    return crawl


def counted(run):
    row = BrokenLinks.objects.get(run=run)
    return row.fixed, row.not_tried


def test_the_count_waits_until_the_links_of_both_runs_are_known(viewer, two_lost, work_off):
    old = two_lost.runs.get()
    drop_dataset(old.pk)
    run = work_off(start_run(two_lost))
    job = BackgroundJob.objects.get(kind=BROKEN_LINKS.name, run=run)
    waits = []

    for part_of in (old, run):
        new_part(part_of.pk, None).save()
    for one in (old, run):
        run_job(job.pk)
        job.refresh_from_db()
        waits.append((job.ended_at, job.waits))
        assert not BrokenLinks.objects.filter(run=run).exists()
        catch_up(one.pk)
    run_job(job.pk)

    assert waits == [(None, f"it waits for the links of run {number}") for number in (1, 2)]
    assert counted(run) == (0, 2)


def test_links_that_never_come_are_waited_for_no_longer_than_a_day(two_lost, work_off):
    run = work_off(start_run(two_lost))
    job = BackgroundJob.objects.get(kind=BROKEN_LINKS.name, run=run)
    new_part(run.pk, None).save()
    BackgroundJob.objects.update(asked_at=timezone.now() - LONGEST_WAIT)

    run_job(job.pk)

    assert counted(run) == (0, 2)


def test_links_on_another_machine_do_not_say_that_no_other_page_has_one(two_lost, again):
    for part in LinksPart.objects.all():
        part.name, part.machine = new_part(part.run_id, None).name, "elsewhere"
        part.save()

    assert counted(again(two_lost)) == (0, 2)


@pytest.mark.parametrize("most", ["MOST_TARGETS", "MOST_PAGES"])
def test_of_more_addresses_than_are_compared_none_counts_as_fixed(
    two_lost, again, monkeypatch, most
):
    monkeypatch.setattr(tried, most, {"MOST_TARGETS": 1, "MOST_PAGES": 0}[most])

    assert counted(again(two_lost)) == (0, 2)


def test_a_search_for_pages_that_takes_too_long_is_broken_off(two_lost, work_off, monkeypatch):
    run = work_off(start_run(two_lost))
    monkeypatch.setattr(tried, "UNREAD", "SELECT pg_sleep(60)::text LIMIT %(most)s")

    held = tried.unknown_urls(two_lost.runs.get(number=1), run, seconds=1)

    assert held == tried.UnknownUrls(is_all=True)


@pytest.mark.parametrize("end", ["cancelled", "failed", "forgotten"])
def test_a_run_whose_count_came_to_nothing_is_still_named(crawl, work_off, end):
    run = work_off(start_run(crawl))
    job = BackgroundJob.objects.get(kind=BROKEN_LINKS.name, run=run)
    if end == "cancelled":
        cancel_job(job, by=None)
    elif end == "failed":
        end_job(job, trouble="It failed.")
    else:
        job.delete()

    assert [one.words for one in pending_news()] == ["Run 2 is not compared yet: broken links."]
