"""What lists say of crawls."""

from __future__ import annotations

from datetime import timedelta

from crawling.models import CrawlJob, RunCount
from crawling.selectors import crawl_view, crawl_views
from crawling.services.creating import create_crawl, start_run


def test_counts_are_summed_over_all_minutes_and_processes(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    row = RunCount.objects.get(run=run)
    row.pk, row.minute = None, row.minute - timedelta(minutes=1)
    row.save()
    row.pk, row.process_number = None, 1
    row.save()

    counts = crawl_view(run.crawl).counts

    assert (counts.discovered, counts.fetched, counts.succeeded) == (3, 3, 3)


def test_a_crawl_that_was_never_started_is_a_draft(order):
    view = crawl_view(create_crawl(order("http://127.0.0.1:8900/")))

    assert (view.state, view.run, view.counts.discovered) == ("draft", None, 0)


def test_a_run_that_waits_names_what_is_short_and_who_holds_it(order):
    start_run(create_crawl(order("http://127.0.0.1:8900/", name="first", claim={"bandwidth": 60_000})))
    start_run(create_crawl(order("http://127.0.0.1:8901/", name="second", claim={"bandwidth": 60_000})))

    view = crawl_view(CrawlJob.objects.get(name="second"))

    assert view.state == "waiting"
    assert "20000 bandwidth short" in view.reason
    assert "first" in view.reason


def test_many_crawls_take_no_more_queries_than_one(order, django_assert_max_num_queries):
    for number in range(5):
        start_run(create_crawl(order(f"http://127.0.0.{number + 1}:8900/", name=f"crawl {number}")))
    crawls = list(CrawlJob.objects.all())

    with django_assert_max_num_queries(15):
        assert len(crawl_views(crawls)) == 5
