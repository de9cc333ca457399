"""A host gets no more requests in a minute and in a day than a crawl's order says, other crawls'
included.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from crawling.frontier.rules.hosts import RequestsSpent
from crawling.models import CrawlJob, Host, HostQueue
from crawling.orders.sections.politeness import PolitenessPart
from crawling.runs.crawls.creation import clone_crawl, create_crawl
from crawling.runs.start import start_run
from tests.crawling.fetching.pipeline.test_crawl_path import links

NOON = datetime(2026, 11, 22, 12, 0, 10, tzinfo=UTC)


@given(st.lists(st.floats(0, 3000), max_size=60), st.integers(1, 5), st.integers(1, 40))
def test_no_minute_and_no_day_ever_gets_more_than_its_budget(pauses, a_minute, a_day):
    politeness = PolitenessPart(host_requests_a_minute=a_minute, host_requests_a_day=a_day)
    now, spent, sent = NOON, RequestsSpent(), []

    for pause in pauses:
        now += timedelta(seconds=pause)
        now += timedelta(seconds=spent.seconds_to_wait(politeness, now))
        sent.append(now)
        spent = spent.add_request(now)

    for length, most in ((16, a_minute), (10, a_day)):  # 2026-11-22 12:00, 2026-11-22
        windows = [str(at)[:length] for at in sent]
        assert all(windows.count(window) <= most for window in windows)


@pytest.mark.parametrize(
    ("limits", "seconds"),
    [({}, 0), ({"host_requests_a_minute": 2}, 50), ({"host_requests_a_day": 2}, 43_190)],
)
def test_a_spent_budget_is_whole_again_with_the_next_minute_or_day(limits, seconds):
    spent = RequestsSpent().add_request(NOON).add_request(NOON)

    assert spent.seconds_to_wait(PolitenessPart(**limits), NOON) == seconds
    assert spent.seconds_to_wait(PolitenessPart(**limits), NOON + timedelta(seconds=seconds)) == 0


def test_a_budget_outlives_shifts_counts_all_crawls_and_binds_only_the_crawl_that_has_it(
    make_site, order, work_off, crawl_to_the_end
):
    site = make_site({"/": links("/1", "/2", "/3"), **{f"/{n}": "x" for n in (1, 2, 3)}})
    crawl_to_the_end(f"{site.url}/", name="before", max_depth=0)
    host = Host.objects.get()
    # robots.txt is one, too
    assert (host.requests_in_day, host.counted_at > timezone.now() - timedelta(minutes=1)) == (
        2,
        True,
    )

    run = start_run(create_crawl(order(f"{site.url}/", name="thrifty", host_requests_a_day=4)))
    work_off(
        run,
        until=lambda run: (
            HostQueue.objects.get(run=run).due_at > timezone.now() + timedelta(seconds=1)
        ),
    )

    assert len(site.log) == 4
    assert Host.objects.get().due_at < timezone.now()
    crawl_to_the_end(f"{site.url}/", name="other")
    assert len(site.log) == 8

    Host.objects.update(counted_at=timezone.now() - timedelta(days=2))
    HostQueue.objects.update(due_at=timezone.now())
    work_off(run)
    assert (run.state, len(site.log)) == ("finished", 10)


def test_a_crawl_keeps_to_its_own_rate_within_what_the_bank_grants(make_site, crawl_to_the_end):
    site = make_site({"/": (200, {"Content-Type": "text/plain"}, "x" * 150 * 1024)})
    began = time.monotonic()

    crawl_to_the_end(f"{site.url}/", max_kib_a_second=100, archive=False)

    assert time.monotonic() - began >= 0.5  # a second's worth comes at once


def test_what_an_order_says_of_politeness_is_kept_cloned_and_checked(order, client, admin_user):
    fields = {
        "delay_factor": 2.5,
        "address_delay_seconds": 0.5,
        "host_requests_a_minute": 30,
        "host_requests_a_day": None,
        "host_patience_seconds": 7200.0,
        "max_kib_a_second": 512,
    }
    crawl = create_crawl(order("http://127.0.0.1:8900/", **fields))
    assert clone_crawl(crawl).politeness == crawl.politeness == fields

    client.force_login(admin_user)
    form = client.get(f"/crawls/new/?clone={crawl.pk}").content.decode()
    assert 'name="delay_factor" value="2.5"' in form
    settings_page = client.get(f"/crawls/{crawl.pk}/settings/").content.decode()
    assert "at most 30, including other crawls" in settings_page
    answer = {
        "seeds": "http://127.0.0.1:8900/",
        "name": "third",
        "preset": "gentle",
        "host_requests_a_day": "0",
    }
    assert "Must be 1 or more" in client.post("/crawls/new/", answer).content.decode()
    client.post("/crawls/new/", {**answer, "host_requests_a_day": "9"})
    assert CrawlJob.objects.get(name="third").politeness["host_requests_a_day"] == 9
