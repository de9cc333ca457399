"""Limits on bytes and time end a run with a sentence; that on pages is in test_claiming and
test_crawl_path.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import CrawlJob, LogLine
from crawling.web.statuses import FetchStatus
from tests.crawling.frontiers import Frontier, candidates


def many(count: int) -> dict[str, str]:
    return {
        "/": "".join(f'<a href="/{n}">x</a>' for n in range(count)),
        **{f"/{n}": "x" * 1000 for n in range(count)},
    }


def test_a_run_ends_when_it_has_fetched_so_many_bytes(make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    site = make_site(many(200))

    run = crawl_to_the_end(f"{site.url}/", max_bytes=20_000, batch_size=5, delay_seconds=0.01)

    assert run.reason.startswith("The limit of 19.5")
    assert 20_000 <= crawl_view(run.crawl).counts.bytes < 100_000


def test_a_run_ends_after_so_many_seconds(make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    site = make_site(many(500))

    run = crawl_to_the_end(f"{site.url}/", max_seconds=1, delay_seconds=0.05)

    assert run.reason == "The limit of 1 seconds is reached; more URLs are queued."
    assert 1 <= len(site.paths) < 100


def chain(count: int) -> dict[str, str]:
    """Each page leads to the next alone, and has a thousand bytes."""
    return {f"/{n}" if n else "/": f'<a href="/{n + 1}">x</a>'.ljust(1000) for n in range(count)}


def test_at_a_soft_limit_of_bytes_nothing_new_is_let_in(make_site, crawl_to_the_end):
    site = make_site(chain(9))

    run = crawl_to_the_end(f"{site.url}/", soft_bytes=3000, batch_size=1)

    assert len(site.paths) == 4  # what the third leads to is let in before its bytes are counted
    assert run.reason.startswith("The soft limit of 2.9\xa0kb is reached")


def test_at_a_soft_limit_of_seconds_nothing_new_is_let_in(make_site, crawl_to_the_end):
    site = make_site(chain(500))

    run = crawl_to_the_end(f"{site.url}/", soft_seconds=1, batch_size=1, delay_seconds=0.05)

    assert 1 <= len(site.paths) < 40
    assert run.reason.startswith("The soft limit of 1 seconds is reached")


@pytest.mark.parametrize(
    ("level", "status"), [("host_max", FetchStatus.HOST_BUDGET), ("host_soft", None)]
)
@pytest.mark.parametrize(
    ("measure", "most", "fields"), [("bytes", 3000, {}), ("seconds", 1, {"delay_seconds": 0.1})]
)
def test_a_hosts_limits_on_bytes_and_time_end_that_host_alone(
    make_site, crawl_to_the_end, level, status, measure, most, fields
):
    site, small = make_site(chain(60)), make_site({"/": "x"})

    run = crawl_to_the_end(
        f"{site.url}/", f"{small.url}/", **{f"{level}_{measure}": most}, batch_size=1, **fields
    )

    left_out = run.urls.exclude(status=200).values_list("status", flat=True)
    assert 3 <= len(site.paths) < 40
    assert small.paths == ["/"]
    assert list(left_out) == ([status] if status else [])
    assert (
        "1 host whose limit was reached"
        if status
        else "others were excluded by a soft limit per host"
    ) in run.reason


def test_the_log_tells_who_started_a_run_and_how_it_ended(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")

    lines = list(LogLine.objects.filter(run=run).order_by("pk").values_list("message", flat=True))
    assert lines[0] == "Run 1 started by the command line."
    assert lines[-1] == "Finished. Every URL in scope is done."


def test_of_a_domain_so_many_hosts_are_let_in_and_all_seeds(db):
    frontier = Frontier()
    CrawlJob.objects.update(budget={"domain_max_hosts": 3})
    frontier.run.crawl.refresh_from_db()
    frontier.sow("one.a.test/", "two.a.test/")
    frontier.lease()
    frontier.claim()
    [first, _] = frontier.in_hand()
    found = candidates(
        "three.a.test/1",
        "four.a.test/",
        "three.a.test/2",
        "one.a.test/x",
        "b.test/",
        "127.0.0.9/",
        via=first.url_id,
    )

    frontier.record(replace(first, links=found))
    frontier.check()

    assert frontier.urls()[2:] == [
        "three.a.test/1",
        "three.a.test/2",
        "one.a.test/x",
        "b.test/",
        "127.0.0.9/",
    ]
    [verdict] = frontier.run.verdicts.all()
    assert (verdict.url, verdict.rule) == ("http://four.a.test/", "domain_budget")
    assert "the limit of hosts is reached for a.test" in verdict.sentence
