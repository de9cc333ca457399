"""A test fetch: what the first seeds answer, told before there is a crawl; as polite and as careful as a crawl."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from django.urls import reverse
from django.utils import timezone

from crawling.frontier.borrowing import borrow_hosts, return_host
from crawling.models import CrawlJob, Host, Page, RobotsFile, Run, RunProcess, Shift, Url
from crawling.rules.robots import forbidding_line
from crawling.services.trying import try_seeds
from tests.crawling.pages import browser, soup

TRY = "crawling:test-fetch"


@pytest.fixture
def attempt(pool, loopback):
    """Return a function that tries seeds of an order and returns the trials."""

    def run(*seeds, **fields):
        trials, mistakes = try_seeds({"name": "x", "seeds": list(seeds), "delay_seconds": 0, **fields})
        assert mistakes == {}
        return trials

    return run


def test_a_page_is_described_with_its_links_and_why_some_are_left_out(attempt, make_site):
    page = '<title>Hello</title><a href="/a">a</a><a href="http://other.example/b">b</a>'
    site = make_site({"/": (200, {"Content-Type": "text/html; charset=iso-8859-1"}, page)})

    (trial,) = attempt(f"{site.url}/")

    assert (trial.status, trial.sentence, trial.title, trial.address, trial.address_class) == (
        200,
        "200 OK",
        "Hello",
        "127.0.0.1",
        "loopback",
    )
    assert (trial.content_type, trial.charset, trial.bytes, trial.links) == ("text/html", "windows-1252", len(page), 2)
    assert trial.robots == "there is no robots.txt: allowed"
    assert [(verdict.url, verdict.why_not) for verdict in trial.verdicts] == [
        (f"{site.url}/a", ""),
        ("http://other.example/b", "other.example is no host of a seed"),
    ]


def test_a_depth_of_0_leaves_all_links_out(attempt, make_site):
    (trial,) = attempt(f"{make_site({'/': '<a href=/a>a</a>'}).url}/", max_depth=0)

    assert [verdict.why_not for verdict in trial.verdicts] == ["the depth is limited to 0"]


def test_robots_txt_is_obeyed_and_its_line_is_quoted(attempt, make_site):
    site = make_site(
        {"/robots.txt": "User-agent: *\nAllow: /\nDisallow: /b\nDisallow: /secret # keep out\nCrawl-delay: 0.2", "/secret": "x"}
    )

    (trial,) = attempt(f"{site.url}/secret")

    assert trial.robots == "forbidden by “Disallow: /secret # keep out”"
    assert (trial.delay, trial.status, trial.sentence) == (0.2, -8, "The site's robots.txt forbids this page.")
    assert site.paths == []


def test_the_forbidding_line_is_that_of_our_own_group():
    body = b"User-agent: *\nDisallow: /a\n\nUser-agent: crawlsite\nDisallow: /a/b"

    assert forbidding_line(body, "crawlsite", "https://example.org/a/b") == "Disallow: /a/b"
    assert forbidding_line(body, "crawlsite", "https://example.org/a") == ""


def test_a_redirect_tells_its_target_and_is_not_followed(attempt, make_site):
    site = make_site({"/": (301, {"Location": "/new"}, ""), "/new": "x"})

    (trial,) = attempt(f"{site.url}/")

    assert (trial.status, trial.final_url, site.paths) == (301, f"{site.url}/new", ["/"])


def test_what_fails_says_why(attempt, identified, make_site, free_port):
    gone, closed, refused = attempt(f"{make_site({}).url}/gone", f"http://127.0.0.1:{free_port}/", "http://127.0.0.1:81/")

    assert (gone.status, gone.sentence) == (404, "404 Not Found")
    assert closed.robots == "could not be had"
    assert closed.sentence.startswith("The site's robots.txt could not be had")
    assert "no administrator has allowed it on port 81" in refused.sentence


def test_only_the_first_ten_are_tried_one_at_a_time_with_the_delay_between(attempt, make_site):
    site = make_site({f"/{number}": "x" for number in range(12)})

    trials = attempt(*(f"{site.url}/{number}" for number in range(12)), delay_seconds=0.05)

    assert len(trials) == 10
    assert site.paths == [f"/{number}" for number in range(10)]
    moments = [request.at for request in site.log]
    assert all(after - before >= 0.05 for before, after in pairwise(moments))


def test_a_delay_too_long_for_the_page_is_told_and_not_waited_for(attempt, make_site):
    site = make_site({"/robots.txt": "User-agent: *\nCrawl-delay: 120", "/": "x"})
    begun = time.monotonic()

    (trial,) = attempt(f"{site.url}/")

    assert trial.note.startswith("Not tried: with 120 s between two fetches")
    assert time.monotonic() - begun < 10
    assert (Host.objects.get().due_at - timezone.now()).total_seconds() > 100


def test_the_hosts_clock_is_kept_for_all_crawls(attempt, make_site):
    site = make_site({"/": "x"})

    attempt(f"{site.url}/", delay_seconds=2)
    rest = (Host.objects.get().due_at - timezone.now()).total_seconds()

    assert 1 < rest <= 2


def test_a_host_that_a_crawl_has_or_that_rests_is_left_alone(attempt, make_site):
    busy, resting = make_site({"/": "x"}), make_site({"/": "x"})
    crawl = CrawlJob.objects.create(name="a", seeds=[], delay_seconds=1, batch_size=1, claim={})
    process = RunProcess.objects.create(run=Run.objects.create(crawl=crawl, number=1), number=0)
    shift = Shift.objects.create(process=process, epoch=1, worker="w")
    later = timezone.now() + timezone.timedelta(minutes=1)
    Host.objects.create(name=f"127.0.0.1:{busy.port}", shift=shift, lease_until=later)
    Host.objects.create(name=f"127.0.0.1:{resting.port}", due_at=later)

    trials = attempt(f"{busy.url}/", f"{resting.url}/")

    assert all("Try again in a moment" in trial.note for trial in trials)
    assert busy.log == resting.log == []


def test_a_borrowed_host_is_nobody_elses(transactional_db):
    first = borrow_hosts(["a.test", "b.test"], soon_seconds=1, seconds=30)
    assert borrow_hosts(["a.test"], soon_seconds=1, seconds=30) == {}

    return_host(first["a.test"], 0)
    assert set(borrow_hosts(["a.test", "b.test"], soon_seconds=1, seconds=30)) == {"a.test"}

    return_host(first["a.test"], 0)  # it is another's by now
    assert borrow_hosts(["a.test"], soon_seconds=1, seconds=30) == {}


def test_nothing_is_stored_but_the_hosts_clock(attempt, make_site):
    attempt(f"{make_site({'/': 'x'}).url}/")

    assert not any(model.objects.exists() for model in (CrawlJob, Run, Url, Page, RobotsFile))


def test_what_is_wrong_with_the_order_is_said_first(pool, loopback):
    trials, mistakes = try_seeds({"name": "x", "seeds": ["nonsense"], "delay_seconds": "x"})

    assert trials == []
    assert set(mistakes) == {"seeds", "delay_seconds"}


def test_a_real_site_is_not_tried_before_we_said_who_we_are(pool, loopback):
    mistakes = try_seeds({"name": "x", "seeds": ["https://example.org/"]})[1]
    assert "before the first crawl of a real site" in mistakes["contact_url"]


def test_without_scripts_the_form_comes_back_filled_in_with_the_answers(pool, loopback, make_site):
    site = make_site({"/": "<title>&lt;Hello&gt;</title>"})

    page = soup(browser("operator").post(reverse(TRY), {"seeds": f"{site.url}/", "name": "<Mine>", "max_pages": "7", "delay_seconds": "0"}))

    assert "<Hello>" in page.find(id="trials").get_text()
    assert page.find("textarea").get_text().strip() == f"{site.url}/"
    assert page.find(attrs={"name": "name"})["value"] == "<Mine>"
    assert page.find(attrs={"name": "max_pages"})["value"] == "7"
    assert not page.select("p.error")


def test_with_scripts_the_answers_come_alone(pool, loopback, make_site):
    site = make_site({"/": "x"})

    answer = browser("operator").post(
        reverse(TRY), {"seeds": f"{site.url}/", "delay_seconds": "0", "preset": "fast"}, headers={"HX-Request": "true"}
    )

    assert b"<form" not in answer.content
    assert "200 OK" in soup(answer).get_text()
