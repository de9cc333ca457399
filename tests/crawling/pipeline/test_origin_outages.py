"""An origin whose robots.txt cannot be had, while another of its host answers, costs its own URLs
time and nothing else.
"""

from __future__ import annotations

import pytest
from django.utils import timezone

from crawling.crawls.creation import create_crawl, start_run
from crawling.models import Url
from crawling.web.statuses import FetchStatus
from tests.crawling.frontier.test_outages import outage, states
from tests.crawling.pipeline.test_crawl_path import links


@pytest.mark.parametrize("is_first", [True, False])
def test_a_site_that_answers_at_http_only_loses_nothing_to_its_https_links(
    make_site, order, work_off, is_first
):
    site = make_site({"/": links("/a", "/b"), "/a": "a", "/b": "b"})
    secure = [f"{site.url.replace('http:', 'https:')}/{n}" for n in range(3)]
    site.pages["/"] += links(*secure)
    seeds = [*secure, f"{site.url}/"] if is_first else [f"{site.url}/"]
    run = start_run(create_crawl(order(*seeds)))

    def is_waited_for(run):
        others = Url.objects.filter(run=run, url__startswith="https:")
        return others.filter(due_at__gt=timezone.now()).count() == len(secure)

    work_off(run, until=is_waited_for)

    assert states(run) == [("q", 1)] * 3 + [("s", 1)] * 3
    assert outage(run) is None
    one = Url.objects.filter(run=run, state="q").first()
    assert (one.status, "could not be had" in one.error) == (FetchStatus.ROBOTS_UNAVAILABLE, True)


def test_https_links_of_a_site_that_answers_at_http_only_fail_after_an_hour(
    make_site, order, work_off
):
    site = make_site({"/": "x"})
    secure = site.url.replace("http:", "https:")
    run = start_run(create_crawl(order(f"{secure}/", f"{site.url}/")))
    Url.objects.filter(run=run, url=f"{secure}/").update(attempts=6)  # in 63 minutes

    work_off(run)

    assert states(run) == [("f", 7), ("s", 1)]
    assert Url.objects.get(run=run, state="f").status == FetchStatus.ROBOTS_UNAVAILABLE
