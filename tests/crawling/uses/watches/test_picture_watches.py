"""Watches of screenshots: how much must differ, which parts do not count, and what is told."""

import json

import pytest

from crawling.base.errors import BadOrder
from crawling.models import CrawlJob, Run
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.watches.comparing import compare_watched
from crawling.uses.watches.models import Watch
from crawling.uses.watches.watching import WatchFields, create_watch
from tests.crawling.pages import browser, soup
from tests.crawling.rendered import crawl_lamp_twice, serve_lamp

#: the share of the box that changed, in per cent
CHANGED = 100 * 640 * 400 / (1280 * 800)


@pytest.fixture(scope="module")
def site(shared):
    return serve_lamp(shared)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once, needs_browser):
    return crawl_lamp_twice(site, shared, crawl_once)


@pytest.fixture
def crawl(crawled, db):
    return CrawlJob.objects.get(pk=crawled.pk)


@pytest.fixture
def find(crawl):
    """Return a function that watches pictures as from the first run, and returns what is found in
    the second.
    """

    def find(percent, *regions):
        fields = WatchFields("pattern", "/", picture_percent=percent, ignored_regions=regions)
        watch = create_watch(crawl, fields, by=None)
        first = Run.objects.get(crawl=crawl, number=1)
        Watch.objects.filter(pk=watch.pk).update(compared_until=first.finished_at)
        compare_watched(crawl.pk)
        return list(watch.found.all())

    return find


def test_a_picture_that_differs_enough_is_found_with_its_share(find, site):
    (event,) = find(20)
    assert (event.kind, event.url) == ("changed", f"{site.url}/")
    assert 100 * event.picture_share == pytest.approx(CHANGED, abs=0.5)
    assert event.note == f"{100 * event.picture_share:.2f} % of the pixels of its picture differ."


def test_a_picture_that_differs_less_is_no_change(find):
    assert find(30) == []


def test_ignored_regions_are_not_compared(find):
    assert find(0, [0, 0, 1280, 520]) == []
    (event,) = find(0, [0, 0, 328, 800])
    assert 100 * event.picture_share == pytest.approx(100 * 320 / 952 / 2, abs=0.5)


def test_alerts_carry_the_share(find, site):
    url = "https://chat.example.org/"
    Listener.objects.create(name="Chat", url=url, events=["page changed"], secret="x")
    (event,) = find(1)
    told = json.loads(Delivery.objects.get().body)
    assert told["picture_percents"] == {f"{site.url}/": round(100 * event.picture_share, 4)}
    assert event.note in told["diff"]


def test_texts_that_only_scripts_bring_are_found_by_watches_of_texts(crawl, site):
    watch = create_watch(crawl, WatchFields("page", f"{site.url}/"), by=None)
    first = Run.objects.get(crawl=crawl, number=1)
    Watch.objects.filter(pk=watch.pk).update(compared_until=first.finished_at)
    compare_watched(crawl.pk)

    (event,) = watch.found.all()
    assert ["added", "Price: 4"] in event.diff


def test_pages_without_pictures_are_counted(crawl, find):
    crawl.runs.get(number=2).pages.update(rendition=None)
    assert find(1) == []
    note = Watch.objects.get().note
    assert note == "2 pages have no picture in run 2 or before, so none was compared."


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"picture_percent": 101}, "picture_percent"),
        ({"picture_percent": float("nan")}, "picture_percent"),
        ({"picture_percent": 1, "selector": "main"}, "picture_percent"),
        ({"picture_percent": 1, "ignored_regions": [[0, 0, 0, 5]]}, "ignored_regions"),
        ({"picture_percent": 1, "ignored_regions": [[0, 0, 5]]}, "ignored_regions"),
        ({"ignored_regions": [[0, 0, 5, 5]]}, "ignored_regions"),
    ],
)
def test_mistakes_in_fields_of_pictures_are_told(crawl, wrong, field):
    with pytest.raises(BadOrder) as refused:
        create_watch(crawl, WatchFields("page", "http://a.test/", **wrong), by=None)
    assert list(refused.value.errors) == [field]


def test_the_form_makes_a_watch_of_pictures_and_keeps_what_was_typed(crawl, site):
    operator, at = browser("operator"), f"/crawls/{crawl.pk}/watches/"
    page = crawl.runs.get(number=2).pages.get(url__url=f"{site.url}/")
    menu = soup(operator.get(f"/crawls/{crawl.pk}/pages/{page.pk}/"))
    link = menu.find("a", string="Watch its picture")["href"]
    form = soup(operator.get(link))
    picture = f"/crawls/{crawl.pk}/pages/{page.pk}/picture/view/"
    assert form.select_one("#regions img")["src"] == picture
    typed = {
        **{"kind": "page", "text": page.url.url, "events": ["changed"], "compare": "picture"},
        **{"selector": "main", "picture_percent": "2.5"},
    }
    again = soup(operator.post(at, {**typed, "ignored_regions": "0 0 ten 5"}))
    assert again.select_one("#ignored_regions").get_text() == "0 0 ten 5"
    assert again.select_one("#regions-error")

    operator.post(at, {**typed, "ignored_regions": "0 0 1280 80\n\n10, 20, 30, 40"})
    watch = Watch.objects.get()
    assert (watch.picture_percent, watch.selector) == (2.5, "")
    assert watch.ignored_regions == [[0, 0, 1280, 80], [10, 20, 30, 40]]
    assert "picture, from 2.5 %" in operator.get(at).content.decode()
