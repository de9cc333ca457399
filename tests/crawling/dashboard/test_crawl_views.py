"""Lists tell the state of crawls."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from crawling.dashboard.base.crawl_views import crawl_view, crawl_views
from crawling.frontier import lease_hosts
from crawling.models import CrawlJob, Host, RunCount, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.failure_causes import failure_causes
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from tests.crawling.frontiers import Frontier, outcome


def test_counts_are_summed_over_all_minutes_and_processes(db):
    frontier = Frontier(processes=2)
    frontier.sow("a.test/1", "a.test/2")
    frontier.record(*frontier.in_hand(), *map(outcome, frontier.claim(1)))
    RunCount.objects.update(minute="2020-01-01T00:00Z")
    frontier.shift = frontier.begin_shift(1)
    frontier.record(*map(outcome, frontier.claim()))

    counts = crawl_view(frontier.run.crawl).counts

    assert RunCount.objects.count() > 1
    assert (counts.discovered, counts.succeeded, counts.queued) == (2, 2, 0)
    frontier.check()


def test_a_crawl_that_was_never_started_is_a_draft(order):
    view = crawl_view(create_crawl(order("http://127.0.0.1:8900/")))

    assert (view.state, view.run, view.counts.discovered) == ("draft", None, 0)


def test_a_run_that_waits_names_what_is_short_and_who_holds_it(order):
    start_run(
        create_crawl(order("http://127.0.0.1:8900/", name="first", claim={"bandwidth": 60_000}))
    )
    start_run(
        create_crawl(order("http://127.0.0.1:8901/", name="second", claim={"bandwidth": 60_000}))
    )

    view = crawl_view(CrawlJob.objects.get(name="second"))

    assert view.state == "waiting"
    assert "(39.1 of 97.7 MB/s free)" in view.reason
    assert "first" in view.reason


def test_many_crawls_take_no_more_queries_than_one(order, django_assert_max_num_queries):
    for number in range(5):
        start_run(create_crawl(order(f"http://127.0.0.{number + 1}:8900/", name=f"crawl {number}")))
    crawls = list(CrawlJob.objects.all())

    with django_assert_max_num_queries(15):
        assert len(crawl_views(crawls)) == 5


def test_a_run_whose_host_another_crawl_fetches_from_names_that_crawl(order):
    url = "http://127.0.0.1:8900/"
    first = start_run(create_crawl(order(url, name="first")))
    shift = begin_shift(first.processes.get(), epoch=1, worker="me")
    lease_hosts(shift, limit=1, soon_seconds=1, delay_seconds=1, lease_seconds=60)

    second = start_run(create_crawl(order(url, name="second")))

    view = crawl_view(second.crawl)
    assert view.state == "waiting"
    assert (
        view.reason
        == "The crawl first is fetching from the host 127.0.0.1:8900; a host serves one crawl at "
        "a time, and they take turns."
    )


def test_a_run_that_rests_between_two_fetches_says_until_when(order):
    Host.objects.create(name="127.0.0.1:8900", due_at=timezone.now() + timedelta(seconds=90))

    view = crawl_view(start_run(create_crawl(order("http://127.0.0.1:8900/"))).crawl)

    assert view.reason in {
        "Resting: 127.0.0.1:8900 may be fetched from in 90 s.",
        "Resting: 127.0.0.1:8900 may be fetched from in 89 s.",
    }


def test_a_granted_run_says_that_it_waits_for_a_worker(order):
    view = crawl_view(start_run(create_crawl(order("http://127.0.0.1:8900/"))).crawl)

    assert (view.state, view.reason) == (
        "queued",
        "Starting …",
    )


def test_failures_are_grouped_by_their_cause(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": "".join(f'<a href="/{n}">x</a>' for n in range(3)),
            "/robots.txt": "User-agent: *\nDisallow: /2",
        }
    )

    run = crawl_to_the_end(f"{site.url}/")

    assert [(cause.status, cause.reason, cause.urls) for cause in failure_causes(run, most=5)] == [
        (404, "404 Not Found", 2),
        (-8, "The site's robots.txt forbids this page.", 1),
    ]


def test_samples_of_a_cause_are_those_found_first_whatever_was_written_last(db):
    frontier = Frontier()
    frontier.sow(*(f"a.test/{n}" for n in range(5)))
    frontier.record(*(outcome(url, "f", status=404) for url in frontier.claim()))
    for url in frontier.run.urls.order_by("-pk"):
        Url.objects.filter(pk=url.pk).update(error="moves the row in its table")

    [cause] = failure_causes(frontier.run, most=5)

    assert [sample.url for sample in cause.samples] == [f"http://a.test/{n}" for n in range(3)]
