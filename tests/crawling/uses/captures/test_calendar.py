"""The calendar of an address has its captures of all runs of all crawls."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.urls import reverse
from django.utils.http import urlencode

from crawling.archive.captures import captures_of
from crawling.jobs.running import run_in_this_process
from crawling.models import BackgroundJob, Page, Run
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.captures.capture_calendar import (
    captures_of_day,
    months_of,
    neighbours_of,
    years_of,
)
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.conftest import do_shifts, order_of
from tests.crawling.pages import browser, soup

DAYS = [datetime(2024, 2, 29, 12, tzinfo=UTC), datetime(2026, 1, 5, 9, tzinfo=UTC)]


@pytest.fixture(scope="module")
def stored(shared, crawl_once):
    """The pages of two runs of a crawl, of one of another, and of a third, which found a change."""
    site = shared.serve({"/": "<title>Home</title><p>one</p>"})
    first = crawl_once(f"{site.url}/")
    return shared.do(run_again, site, first)


def run_again(site, first):
    second = do_shifts(start_run(first.crawl))
    site.pages["/"] = "<title>Home</title><p>two</p>"
    other = do_shifts(start_run(create_crawl(order_of(f"{site.url}/", name="Another"))))
    third = do_shifts(start_run(first.crawl))
    days = [DAYS[0], DAYS[1], DAYS[1], DAYS[1].replace(hour=10)]
    pages = [Page.objects.get(run=run) for run in (first, second, other, third)]
    for page, at in zip(pages, days, strict=True):
        Page.objects.filter(pk=page.pk).update(fetched_at=at)
    return [page.pk for page in pages]


@pytest.fixture
def captured(stored, db):
    """The page of a crawl's first run, of its second, of another crawl, and of the third."""
    pages = Page.objects.in_bulk(stored)
    return [pages[pk] for pk in stored]


def test_captures_are_counted_by_years_months_and_days(captured):
    found = captures_of(captured[0].url.url)

    assert [one.pk for one in found] == [captured[at].pk for at in (0, 1, 2, 3)]
    assert years_of(found) == [(2024, 1), (2025, 0), (2026, 3)]
    months = months_of(found, 2024)
    assert [month.count for month in months] == [0, 1, *[0] * 10]
    (leap,) = (day for week in months[1].weeks for day in week if day.count)
    assert (leap.day, leap.is_of_month) == (date(2024, 2, 29), True)


def test_each_capture_is_compared_with_the_one_before_it_of_its_crawl(captured):
    listed = captures_of_day(captures_of(captured[0].url.url), date(2026, 1, 5))

    assert [(one.page.pk, one.before and one.before.pk, one.is_changed) for one in listed] == [
        (captured[1].pk, captured[0].pk, False),
        (captured[2].pk, None, False),
        (captured[3].pk, captured[1].pk, True),
    ]
    assert [one.elsewhere and one.elsewhere.pk for one in listed] == [
        None,
        captured[1].pk,
        captured[2].pk,
    ]
    assert neighbours_of(captured[1]) == (captured[0], captured[3], 2, 3)


def test_any_two_captures_are_compared_also_of_two_crawls(captured):
    """The capture of the other crawl is chosen, then one of this: the earlier one stands first."""
    client, other, last = browser("viewer"), captured[2], captured[3]
    url = urlencode({"u": other.url.url, "day": "2026-01-05"})
    day = client.get(f"{reverse('crawling:captures')}?{url}")
    chosen = soup(day).select("td a[href*='with=']")[1]["href"]

    page = client.get(reverse("crawling:captures") + chosen)
    links = [one["href"] for one in soup(page).select("td a") if one.text == "compare"]
    address = reverse("crawling:compare-page", args=[last.run.crawl_id, other.pk, last.pk])
    assert links[-1] == address

    client.get(address)
    run_in_this_process(BackgroundJob.objects.latest("pk"))
    shown = soup(client.get(address))
    assert "Another, run 1" in shown.main.get_text(" ", strip=True)
    told = client.get(f"/api/v1/crawls/{last.run.crawl_id}/changes/{captured[1].pk}/{last.pk}")
    assert told.status_code == 202
    told = client.get(f"/api/v1/crawls/{last.run.crawl_id}/changes/{other.pk}/{last.pk}").json()
    assert (told["old_crawl"], told["old_run"]) == (other.run.crawl_id, 1)


def test_a_comparison_of_two_crawls_is_forgotten_once_a_page_of_either_is_taken_down(captured):
    client, other, last = browser("viewer"), captured[2], captured[3]
    address = reverse("crawling:compare-page", args=[last.run.crawl_id, other.pk, last.pk])
    client.get(address)
    job = run_in_this_process(BackgroundJob.objects.latest("pk"))

    withdraw_pages(other.run.crawl, None, kind="page", text=other.url.url, reason="asked", by=None)

    job.refresh_from_db()
    assert (job.is_forgotten, job.result) == (True, None)
    assert client.get(address).status_code == 410


def test_runs_that_are_being_deleted_have_no_captures(captured):
    Run.objects.filter(pk=captured[0].run_id).update(removal_asked_at=DAYS[1])

    assert neighbours_of(captured[1]) == (None, captured[3], 1, 2)


def test_the_pages_lead_from_a_capture_to_the_calendar_and_its_differences(captured):
    viewer, page = browser("viewer"), captured[3]
    shown = soup(viewer.get(reverse("crawling:page", args=[page.run.crawl_id, page.pk])))
    captures = shown.find("nav", attrs={"aria-label": "Captures"})
    assert "3 of 3 in this crawl" in captures.text

    calendar = soup(viewer.get(captures.find("a", string="calendar")["href"]))

    assert calendar.find("a", attrs={"aria-current": "date"})["aria-label"] == (
        "5 January 2026: 3 captures"
    )
    changed = calendar.find("a", string="changed since 5 Jan 2026")
    assert viewer.get(changed["href"]).status_code == 200
    assert [one.text.split() for one in calendar.find(class_="ways").find_all("a")] == [
        ["2024", "(1)"],
        ["2025", "(0)"],
        ["2026", "(3)"],
    ]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"u": "http://nowhere.test/"}, "No crawl has stored this address."),
        ({"u": "nonsense"}, "is not a URL"),
        ({}, "Calendar of captures"),
    ],
)
def test_an_address_without_captures_is_told_so(db, asked, said):
    shown = browser("viewer").get(f"{reverse('crawling:captures')}?{urlencode(asked)}")
    assert said in shown.content.decode()


@pytest.mark.parametrize("asked", ["year=1", "year=99999", "day=2026-13-99", "day=1900-01-01"])
def test_any_year_and_day_is_answered(captured, asked):
    url = urlencode({"u": captured[0].url.url})
    place = f"{reverse('crawling:captures')}?{url}&{asked}"
    assert browser("viewer").get(place).status_code == 200
