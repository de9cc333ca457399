"""Pages tell the truth: names of data, bars, times, counts and messages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.run.overview import remaining_in_words
from crawling.dashboard.run.rates import WIDTH, FetchRates, rates_of
from crawling.models import Page, Run, RunCount
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.schedules import set_schedule
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from tests.crawling.pages import browser, soup
from tests.crawlsite.test_preferences import prefer


def page_of(client, name, *args, **query):
    return soup(client.get(reverse(name, args=args), query)).main


def words_of(element):
    return " ".join(element.get_text(" ", strip=True).split())


def test_each_kind_of_derived_data_has_its_own_name(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    page = page_of(browser("viewer"), "crawling:archive", run.crawl_id)

    table = page.find(id="derived").parent
    names = [words_of(cell) for cell in table.select("tbody th")]
    assert names == ["Links", "Texts, ids and errors of HTML", "Structured data", "Search index"]


def test_the_bar_under_what_is_available_shows_what_is_available(pool):
    page = page_of(browser("viewer"), "allocation:pool", pool.pk)

    bars = page.select("tr.available progress")
    assert bars
    assert {bar["value"] for bar in bars} == {"100"}
    assert all("available" in bar["title"] for bar in bars)


def test_next_starts_are_told_twice_only_where_the_zones_differ(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    set_schedule(crawl, {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}, by=None)
    operator = browser("operator")

    def zones():
        page = page_of(operator, "crawling:schedule", crawl.pk)
        return [words_of(head) for head in page.select_one("main > .dates").select("th")]

    assert zones() == ["Next starts, Europe/Berlin", "UTC"]
    prefer(operator, time_zone="Europe/Berlin")
    assert zones() == ["Next starts, Europe/Berlin"]


@pytest.fixture
def run(order):
    """A run that has fetched in its only minute."""
    run = start_run(create_crawl(order("http://127.0.0.1:8900/", name="Atlas")))
    began = datetime(2026, 1, 5, 12, 0, 10, tzinfo=UTC)
    Run.objects.filter(pk=run.pk).update(
        state="finished", started_at=began, finished_at=began + timedelta(seconds=30)
    )
    RunCount.objects.create(run=run, process_number=1, minute=began.replace(second=0), fetched=72)
    run.refresh_from_db()
    return run


def test_times_of_a_crawl_page_are_in_the_zone_of_the_account_which_it_names(run):
    operator = browser("operator")
    prefer(operator, time_zone="Europe/Berlin")

    page = page_of(operator, "crawling:crawl", run.crawl_id)

    speed = page.find(id="speed").parent
    assert "13:00:00 peak 72 pages/min 13:00:40 CET" in words_of(speed)
    assert speed.select_one("table tbody th").get_text() == "13:00:00"
    assert words_of(page.find(id="log")) in ("Log CET", "Log CEST")


def test_a_single_minute_is_a_bar_in_the_middle_of_the_drawing(run):
    (bar,) = FetchRates([(run.started_at, 72)], None).bars

    assert float(bar.width) <= WIDTH / 10
    assert float(bar.x) + float(bar.width) / 2 == pytest.approx(WIDTH / 2)


def test_the_bars_of_a_run_of_seconds_sum_seconds_and_end_with_the_run(make_site, crawl_to_the_end):
    site = make_site({"/": "".join(f"<a href=/{n}>x</a>" for n in range(9)), "/0": "x"})
    run = crawl_to_the_end(f"{site.url}/")
    began = datetime(2026, 1, 5, 12, 0, 10, tzinfo=UTC)
    for number, page in enumerate(run.pages.order_by("pk")):
        at = began + timedelta(seconds=(0.5, 3, 3, 47)[min(number, 3)])
        Page.objects.filter(pk=page.pk).update(fetched_at=at)
    ended = began + timedelta(seconds=50)
    Run.objects.filter(pk=run.pk).update(started_at=began, finished_at=ended)
    RunCount.objects.filter(run=run).update(minute=began.replace(second=0))
    run.refresh_from_db()

    rates = rates_of(run, is_live=False, fetched=10)

    assert (rates.interval, len(rates.counts), rates.end) == ("2 seconds", 25, ended)
    assert [pages for _, pages in rates.counts if pages] == [1, 2, 7]
    last = rates.bars[-2]
    assert float(last.x) + float(last.width) <= WIDTH
    assert float(last.x) > 0.9 * WIDTH
    page = page_of(browser("viewer"), "crawling:crawl", run.crawl_id)
    speed = words_of(page.find(id="speed").parent)
    assert speed.startswith("Pages by 2 seconds")
    assert "peak 7 pages in 2 seconds" in speed


def test_hosts_of_a_paused_crawl_are_not_due(order):
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    pause(run.crawl, by=None)
    Run.objects.filter(pk=run.pk).update(state="paused")

    page = page_of(browser("viewer"), "crawling:crawl", run.crawl_id)

    hosts = words_of(page.find(id="hosts").parent)
    assert "when the crawl goes on" in hosts
    assert "1 with URLs to fetch" in hosts
    assert not [word for word in (" due ", "0 active") if word in hosts]


def test_what_is_excluded_is_not_called_an_error(make_site, crawl_to_the_end):
    site = make_site({"/": '<a href="/no">x</a>', "/robots.txt": "User-agent: *\nDisallow: /no"})
    run = crawl_to_the_end(f"{site.url}/")

    causes = page_of(browser("viewer"), "crawling:crawl", run.crawl_id).find(id="errors").parent

    assert words_of(causes).startswith("Failed and excluded, by cause")
    assert "robots.txt forbids" in words_of(causes)


@pytest.mark.parametrize(
    ("left", "rates", "words"),
    [
        (240, (10.0, 9.6), "About 25 seconds"),
        (480, (10.4, 9.6), "About 50 seconds"),
        (27_000, (10.0, 8.0), "About 55 minutes"),
        (27_000, (10.0, 6.0), "About 45 to 75 minutes"),
    ],
)
def test_an_estimate_is_no_more_precise_than_it_can_be(left, rates, words):
    said = remaining_in_words(known=left, pages=1, fetched=1, most=None, rates=rates)
    assert said == f"{words} for the URLs found so far."


def test_strangers_see_no_numbers_of_ours_for_statuses(order, make_site, crawl_to_the_end):
    site = make_site({"/": '<a href="/no">x</a>', "/robots.txt": "User-agent: *\nDisallow: /no"})
    crawl = crawl_to_the_end(f"{site.url}/").crawl
    _, token = create_share_link(crawl, days=7, by=None)

    page = soup(Client().get(f"/shared/{token}/"))

    cells = [words_of(cell) for cell in page.find(id="statuses").parent.select("tbody th")]
    assert cells == ["200", "–"]


def test_a_message_tells_what_was_asked_and_not_a_state_that_changes(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/", name="Atlas"))
    operator = browser("operator")

    for verb, buttons in (("start", []), ("pause", ["Undo"])):
        page = soup(operator.post(f"/crawls/{crawl.pk}/{verb}/", follow=True))
        flash = page.select_one(".message.success")
        assert [words_of(button.extract()) for button in flash.select("button")] == buttons
        assert words_of(flash) == f"{verb.capitalize()} of Atlas requested."


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (timedelta(days=7), "7 days from now, "),
        (timedelta(days=90), "90 days from now, "),
        (timedelta(days=1, seconds=5), "1 day from now, "),
        (timedelta(hours=13, seconds=5), "13 hours from now"),
        (timedelta(hours=-13), "13 hours ago"),
        (timedelta(days=-1), "1 day ago, "),
        (timedelta(days=-9), "9 days ago, "),
    ],
)
def test_days_are_whole_and_have_their_date(ahead, words):
    at = timezone.now() + ahead - timedelta(seconds=1)

    said = Template("{% time_ago at %}").render(Context({"at": at}))

    assert f">{words}" in said.replace("\xa0", " ")
    assert (f"{timezone.localdate(at):%Y-%m-%d}</time>" in said) == ("day" in words)


ROOT = Path(__file__).parents[3]
#: a time of day in a template, without letters that tell its zone
WITHOUT_ZONE = re.compile(r'date:"[^"TeOP]*\bH:i[^"TeOP]*"')
#: what tells the zone of times beside it
NAMES_A_ZONE = re.compile(r'\{\{ ?zone ?\}\}|\bUTC\b|(?:date|now):? ?"[^"]*[Te]"')


def test_a_page_with_a_time_of_day_names_its_zone():
    folders = ("templates", "crawling", "experiments", "allocation", "dnscache")
    pages = [page for name in folders for page in (ROOT / name).rglob("*.html")]
    with_times = [page for page in pages if WITHOUT_ZONE.search(page.read_text())]

    assert len(with_times) > 5
    assert [page.name for page in with_times if not NAMES_A_ZONE.search(page.read_text())] == []


def test_lists_with_times_name_the_zone_of_the_account_in_their_heads(order):
    administrator = browser("administrator")
    prefer(administrator, time_zone="Asia/Tokyo")
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    schedule = set_schedule(crawl, {"cron": "0 3 * * *"}, by=None)
    schedule.starts.create(due_at=datetime(2026, 1, 31, 23, 30, tzinfo=UTC), outcome="Skipped.")

    activity = page_of(administrator, "administration:activity")
    starts = page_of(administrator, "crawling:schedule", crawl.pk)

    assert "Time, Asia/Tokyo" in [words_of(head) for head in activity.select("th")]
    assert "Due, Asia/Tokyo" in [words_of(head) for head in starts.select("th")]
    assert "Sun 2026-02-01 08:30" in words_of(starts)
