"""News: what became of watched pages and links reaches the overview, the bell, a feed and JSON."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crawling.datasets.catch_up import catch_up
from crawling.installation.news import pending_news
from crawling.jobs.enqueue import open_job
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, CrawlJob, Page
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.link_check.jobs import BROKEN_LINKS
from crawling.uses.watches.comparing import compare_watched
from crawling.uses.watches.models import Watch, WatchEvent
from crawling.uses.watches.watching import WatchFields, create_watch
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from crawlsite import news
from tests.crawling.conftest import allowed_loopback, do_shifts, order_of, the_pool
from tests.crawling.pages import browser, soup

HOME, LIST, COUNT = reverse("home"), reverse("attention"), reverse("attention-count")
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve({"/": "<a href='/prices'>p</a> <a href='/a'>a</a>", "/prices": "3 €"})


@pytest.fixture(scope="module")
def watched(shared, site, crawl_once):
    run = crawl_once(f"{site.url}/", name="Shop & Co")
    return shared.do(changed, site, run)


def changed(site, run):
    """A page was watched by one click, and has changed; a link broke, too."""
    operator = browser("operator")
    page = Page.objects.get(run=run, url__url=f"{site.url}/prices")
    shown = soup(operator.get(f"/crawls/{run.crawl_id}/pages/{page.pk}/"))
    [button] = [one for one in shown.select("main button") if one.get_text(strip=True) == "Watch"]
    operator.post(button["formaction"], {"next": f"/crawls/{run.crawl_id}/pages/{page.pk}/"})
    site.pages |= {"/": f"{site.pages['/']} <a href='/lost'>l</a>", "/prices": "4 €"}
    do_shifts(start_run(run.crawl))
    compare_watched(run.crawl_id)
    for one in run.crawl.runs.all():
        catch_up(one.pk)
    for asked in BackgroundJob.objects.filter(kind=BROKEN_LINKS.name, ended_at=None):
        run_job(asked.pk)
    return operator, run.crawl


@pytest.fixture
def operator(watched, db):
    cache.delete(news.KEPT)
    client, _ = watched
    with_cookies = Client()
    with_cookies.cookies = copy(client.cookies)
    return with_cookies


@pytest.fixture
def crawl(watched, db):
    return CrawlJob.objects.get(pk=watched[1].pk)


def test_a_page_is_watched_by_one_button_and_then_says_so(operator, crawl, site):
    watch = Watch.objects.get()

    assert (watch.kind, watch.text) == ("page", f"{site.url}/prices")
    page = Page.objects.filter(url__url=watch.text).latest("pk")
    shown = soup(operator.get(f"/crawls/{crawl.pk}/pages/{page.pk}/")).main
    [link] = [one for one in shown.select("a") if one.get_text(strip=True) == "Watched"]
    assert f"{site.url}/prices" in soup(operator.get(link["href"])).main.text
    assert not [one for one in shown.select("button") if one.get_text(strip=True) == "Watch"]


def test_news_reach_the_overview_the_page_of_the_crawl_and_the_bell(operator, crawl):
    told = ["1 watched page changed", "1 new broken link"]

    links = soup(operator.get(HOME)).select("section.news li li > a")
    assert [link.get_text() for link in links] == told
    for link in links:
        assert operator.get(link["href"]).status_code == 200
    week = soup(operator.get(f"/crawls/{crawl.pk}/")).select_one("section[aria-labelledby=week]")
    assert [one.get_text() for one in week.select("li")] == told
    assert "2 runs ended; the latest fetched 4 pages." in week.get_text(" ")
    assert operator.get(COUNT).json()["news"] == 2
    assert operator.get("/api/v1/news").json()["items"][0]["kind"] == "links broken"
    assert operator.get(f"/api/v1/news?crawl={crawl.pk + 1}").status_code == 404


def test_each_user_marks_news_as_read(operator, crawl):
    viewer = browser("viewer")
    page = soup(operator.get(LIST))
    assert len(page.select("section .tag")) == 2
    form = page.select_one(f"form[action='{reverse('news-read')}']")

    operator.post(form["action"], {"until": form.select_one("[name=until]")["value"]})

    assert operator.get(COUNT).json()["news"] == 0
    assert not soup(operator.get(LIST)).select("section .tag")
    viewer_count = viewer.get(COUNT).json()["news"]
    assert viewer_count == 0  # they are older than the account
    WatchEvent.objects.update(found_at=timezone.now() + timedelta(seconds=1))
    cache.delete(news.KEPT)
    assert (operator.get(COUNT).json()["news"], viewer.get(COUNT).json()["news"]) == (1, 1)
    WatchEvent.objects.update(found_at=timezone.now())
    cache.delete(news.KEPT)
    until = timezone.now().isoformat()
    asked = {"data": {"until": until}, "content_type": "application/json"}
    assert viewer.post("/api/v1/news/mark-read", **asked).status_code == 204
    assert (operator.get(COUNT).json()["news"], viewer.get(COUNT).json()["news"]) == (1, 0)


@pytest.mark.parametrize("until", ["2999-01-01T00:00+00:00", "9999-12-31T23:59:59-23:59"])
def test_news_of_the_future_are_not_read(operator, crawl, until):
    asked = {"data": {"until": until}, "content_type": "application/json"}
    operator.post(reverse("news-read"), {"until": until})
    assert operator.post("/api/v1/news/mark-read", **asked).status_code == 204
    assert operator.get(COUNT).json()["news"] == 0

    WatchEvent.objects.update(found_at=timezone.now() + timedelta(seconds=1))
    cache.delete(news.KEPT)

    assert operator.get(COUNT).json()["news"] == 1
    assert operator.get(LIST).status_code == 200


def test_a_feed_reader_gets_the_news_until_the_address_is_renewed(operator, crawl, settings):
    address = operator.get("/api/v1/news").json()["feed"]
    path = address.removeprefix(settings.DASHBOARD_URL.rstrip("/"))

    feed = ElementTree.fromstring(Client().get(path).content)
    titles = [entry.findtext(f"{ATOM}title") for entry in feed.iter(f"{ATOM}entry")]
    assert titles == ["Shop & Co: 1 new broken link", "Shop & Co: 1 watched page changed"]

    operator.post(reverse("news-read"), {"renew": ""})
    assert Client().get(path).status_code == 404
    renewed = operator.get("/api/v1/news").json()["feed"]
    path = renewed.removeprefix(settings.DASHBOARD_URL.rstrip("/"))
    assert Client().get(path).status_code == 200
    Watch.objects.get().created_by.__class__.objects.update(is_active=False)
    assert Client().get(path).status_code == 404


def test_what_is_withdrawn_or_deleted_is_no_news(operator, crawl, site):
    withdraw_pages(crawl, None, kind="page", text=f"{site.url}/prices", reason="asked", by=None)
    names = [one["kind"] for one in operator.get("/api/v1/news").json()["items"]]
    assert names == ["links broken"]

    crawl.runs.update(removal_asked_at=timezone.now())
    assert operator.get("/api/v1/news").json()["items"] == []


def test_news_come_by_pages_that_neither_repeat_nor_miss_any(operator, crawl):
    watch, run = Watch.objects.get(), crawl.runs.get(number=2)
    at = timezone.now()
    WatchEvent.objects.bulk_create(
        WatchEvent(watch=watch, run=run, kind=kind, url="u", fingerprint=number)
        for number, kind in enumerate(["gone", "new", "changed"])
    )
    WatchEvent.objects.update(found_at=at)  # of one moment

    assert operator.get("/api/v1/news?cursor=9999-12-31T23:59:59-23:59 x").status_code == 200
    found, cursor = [], ""
    while cursor is not None:
        page = operator.get("/api/v1/news", {"limit": 1, "cursor": cursor}).json()
        found += [(one["kind"], one["count"]) for one in page["items"]]
        cursor = page["next"]

    assert found == [("page gone", 1), ("page changed", 2), ("new page", 1), ("links broken", 1)]


def test_the_run_that_ended_last_is_the_first_that_is_not_compared_yet(db):
    the_pool()
    allowed_loopback()
    ended = {"state": "finished", "is_latest": True}
    runs = {
        name: create_crawl(order_of("http://127.0.0.1:8900/", name=name)).runs.create(
            number=1, finished_at=timezone.now() - timedelta(hours=hours), **ended
        )
        for name, hours in {"links": 2, "watched": 1, "both": 3}.items()
    }
    for name in ("links", "both"):
        open_job(BROKEN_LINKS, runs[name], by=None)
    for name in ("watched", "both"):
        create_watch(runs[name].crawl, WatchFields("host", "a.test"), by=None)
    watches = Watch.objects.filter(kind="host", text="a.test")
    watches.update(compared_until=timezone.now() - timedelta(days=1))

    assert [one.name for one in pending_news()] == ["watched", "links", "both"]
