"""The weekly summary: what changed in crawls, told once a week to those who have chosen it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.jobs.enqueue import open_job
from crawling.models import CrawlJob, Run
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.week import CrawlWeeks
from crawling.uses.alerts import weekly
from crawling.uses.alerts.delivery import send_due_deliveries
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.alerts.models import Delivery, Listener
from crawling.uses.alerts.weekly import add_due_summaries, week_end
from crawling.uses.alerts.wording import MessageFormat, body_of
from crawling.uses.link_check.jobs import BROKEN_LINKS
from crawling.uses.link_check.models import BrokenLinks
from crawlsite.models import Preference
from tests.crawling.conftest import allowed_loopback, order_of, the_pool
from tests.crawling.pages import browser, soup
from tests.races.steps import until_somebody_waits_for

WISH = {"name": "Owners", "url": "mailto:web@example.org", "events": ["weekly summary"]}
DAY = timedelta(days=1)
#: a Monday
MONDAY = datetime(2026, 11, 30, 7, 30, tzinfo=UTC)


@pytest.fixture
def ada(django_user_model):
    return django_user_model.objects.create_user("ada")


@pytest.fixture
def crawl(db):
    return crawled("Library <b>", days_ago=2)


def crawled(name, *, days_ago, broken=2):
    """A crawl with a run that ended so long before Monday, and whose links broke then."""
    the_pool()
    allowed_loopback()
    at = MONDAY - days_ago * DAY
    crawl = create_crawl(order_of("http://127.0.0.1:8900/", name=name))
    run = Run.objects.create(
        crawl=crawl, number=2, state="finished", finished_at=at, is_latest=True
    )
    old = Run.objects.create(
        crawl=crawl, number=1, state="finished", finished_at=at - 9 * DAY, is_latest=False
    )
    BrokenLinks.objects.create(run=run, against=old, broken=3, new=broken, fixed=1, found_at=at)
    return crawl


def _beside(work):
    try:
        work()
    finally:
        connection.close()


def told():
    return [json.loads(one.body) for one in Delivery.objects.order_by("pk")]


def test_a_week_is_mailed_once_with_what_changed_and_where(crawl, ada, mail_server, clock):
    clock(MONDAY - DAY)
    save_listener(WISH, by=ada)
    add_due_summaries()
    assert told() == []

    clock(MONDAY)
    add_due_summaries()
    add_due_summaries()
    send_due_deliveries()

    [(_, recipients, letter)] = mail_server.letters
    assert recipients == ["web@example.org"]
    assert letter["Subject"] == "[crawlsite] weekly summary: all crawls"
    assert letter.get_content_type() == "text/plain"
    site, links = "https://crawls.example.org", f"/crawls/{crawl.pk}/links/?run=2&kind=broken"
    assert letter.get_content().splitlines()[:6] == [
        "In the week until 2026-11-30 07:00 UTC something changed in 1 of 1 crawl.",
        "",
        f"Library <b>: 1 run: {site}/crawls/{crawl.pk}/",
        f"– 2 new broken links: {site}{links}&change=new&against=1",
        f"– 1 broken link fixed: {site}{links}&change=mended&against=1",
        "",
    ]
    clock(MONDAY + 7 * DAY)
    add_due_summaries()
    assert told()[-1]["sentence"].endswith("no run ended.")


def test_the_week_ends_on_monday_in_the_zone_of_the_account(crawl, ada, mail_server, clock):
    Preference.objects.create(user=ada, time_zone="America/New_York")
    clock(MONDAY - DAY)
    save_listener(WISH, by=ada)

    clock(MONDAY)  # half past two in New York
    add_due_summaries()
    assert told() == []

    clock(MONDAY + timedelta(hours=5))
    add_due_summaries()
    assert told()[0]["sentence"].startswith("In the week until 2026-11-30 07:00 EST ")


@pytest.mark.parametrize(
    ("now", "zone", "end"),
    [
        ("2026-11-30T07:00+00:00", "UTC", "2026-11-30T07:00+00:00"),
        ("2026-11-30T06:59+00:00", "UTC", "2026-11-23T07:00+00:00"),
        ("2026-12-06T23:59+00:00", "UTC", "2026-11-30T07:00+00:00"),
        # the hour that daylight saving takes or gives is within the week
        ("2026-10-26T07:00+01:00", "Europe/Berlin", "2026-10-26T07:00+01:00"),
        ("2026-10-26T06:30+01:00", "Europe/Berlin", "2026-10-19T07:00+02:00"),
    ],
)
def test_the_end_of_a_week(now, zone, end):
    assert week_end(datetime.fromisoformat(now), ZoneInfo(zone)) == datetime.fromisoformat(end)


def test_a_listener_of_one_crawl_is_told_of_no_other(crawl, ada, mail_server, clock):
    other = crawled("Shop", days_ago=3)
    clock(MONDAY - DAY)
    save_listener({**WISH, "crawl": other.pk}, by=ada)
    with pytest.raises(BadOrder, match="there is no crawl"):
        save_listener({**WISH, "name": "More", "crawl": 999_999}, by=ada)

    clock(MONDAY)
    add_due_summaries()

    [facts] = told()
    assert (facts["name"], "Library" in json.dumps(facts)) == ("Shop", False)
    clock(MONDAY + 7 * DAY)
    CrawlJob.objects.filter(pk=other.pk).update(removal_asked_at=timezone.now())
    add_due_summaries()
    assert len(told()) == 1


def test_a_week_in_which_nothing_changed_says_so(ada, mail_server, clock):
    crawled("Quiet", days_ago=3)
    BrokenLinks.objects.update(new=0, fixed=0)
    clock(MONDAY - DAY)
    save_listener(WISH, by=ada)
    clock(MONDAY)
    add_due_summaries()

    [facts] = told()
    assert (
        "no watched page changed, and no link broke or was fixed, in 1 crawl." in facts["sentence"]
    )
    assert facts["lines"][0]["text"] == "Quiet: 1 run; nothing changed"


def test_chats_get_the_lines_as_links_in_which_no_name_is_markup(crawl, ada, mail_server, clock):
    clock(MONDAY - DAY)
    save_listener(WISH, by=ada)
    clock(MONDAY)
    add_due_summaries()
    body = Delivery.objects.get().body

    slack = json.loads(body_of(MessageFormat.SLACK, body))["text"]
    matrix = json.loads(body_of(MessageFormat.MATRIX, body))["html"]
    teams = json.dumps(json.loads(body_of(MessageFormat.TEAMS, body)))

    assert "|Library &lt;b&gt;: 1 run>" in slack
    assert ">Library &lt;b&gt;: 1 run</a>" in matrix
    assert "&amp;change=new" in matrix
    assert "Library <b>: 1 run: https://" in teams


def test_of_two_schedulers_at_once_one_tells_the_week(
    transactional_db, django_user_model, mail_server, clock
):
    crawled("Library", days_ago=2)
    clock(MONDAY - DAY)
    listener = save_listener(WISH, by=django_user_model.objects.create_user("ada"))
    clock(MONDAY)
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            end = week_end(MONDAY, ZoneInfo("UTC"))
            weekly._add_delivery(listener, end, CrawlWeeks(end))
            other = threads.submit(_beside, add_due_summaries)
            until_somebody_waits_for(connection.connection.info.backend_pid)
        other.result()

    assert Delivery.objects.count() == 1


def test_the_form_takes_the_name_of_a_crawl(crawl, mail_server):
    browser_ = browser("administrator")
    asked = {**WISH, "crawl": "No such", "is_on": "on"}
    assert "here is no crawl named" in soup(browser_.post(reverse("alerts:listeners"), asked)).text
    browser_.post(reverse("alerts:listeners"), {**asked, "crawl": crawl.name})

    listener = Listener.objects.get()
    assert listener.crawl == crawl
    page = soup(browser_.get(reverse("alerts:listener", args=[listener.pk])))
    assert page.select_one("[name=crawl]")["value"] == crawl.name
    assert browser_.get(f"/api/v1/alerts/{listener.pk}").json()["crawl"] == crawl.pk


def test_no_crawl_is_called_quiet_whose_links_are_not_counted_yet_however_many_there_are(db):
    crawls = [crawled(f"crawl {number}", days_ago=1) for number in range(25)]
    BrokenLinks.objects.all().delete()
    for run in Run.objects.filter(crawl__in=crawls, is_latest=True):
        open_job(BROKEN_LINKS, run, {}, by=None)

    weeks, others = CrawlWeeks(MONDAY).of(None, most=50)

    assert (len(weeks), others) == (len(crawls), 0)
    assert all(week.words.endswith("not compared yet") for week in weeks)
