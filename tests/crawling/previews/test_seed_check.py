"""A test fetch: what the first seeds answer, told before there is a crawl; as polite and as careful
as a crawl.
"""

from __future__ import annotations

import time
from itertools import pairwise

import django_rq
import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from allocation.models import Process
from allocation.services import reap_expired, register_process
from crawling.base.encrypted_text import SealBroken
from crawling.frontier.address_clock import borrow_hosts, return_host
from crawling.jobs.retention import end_and_delete_old_jobs
from crawling.jobs.running import run_job
from crawling.jobs.temporary_grant import NoUnits, temporary_grant
from crawling.models import (
    CrawlJob,
    Host,
    Inquiry,
    InquiryKind,
    Page,
    RobotsFile,
    Run,
    RunProcess,
    Shift,
    Url,
)
from crawling.previews import seed_fetches as test_fetch
from crawling.previews.inquiries import FAILURE_KEPT, ask_once, start_inquiry
from crawling.previews.seed_fetches import request_test_fetch, run_test_fetch
from crawling.uses.copies.jobs import TEXT_COPIES
from crawling.web.robots import forbidding_line
from tests.crawling.acting import acting
from tests.crawling.pages import browser, log_in, soup
from tests.crawling.rendered import SHELL
from tests.stack import running_stack, wait_until

TRY = "crawling:test-fetch"


@pytest.fixture
def attempt(pool, loopback):
    """Return a function that tries seeds of an order and returns the fetches."""

    def run(*seeds, **fields):
        fields = {"name": "x", "seeds": list(seeds), "delay_seconds": 0, **fields}
        assert request_test_fetch(fields, by=None)[1] == {}
        return run_test_fetch(fields)

    return run


def test_a_page_is_described_with_its_links_and_why_some_are_left_out(attempt, make_site):
    page = '<title>Hello</title><a href="/a">a</a><a href="http://other.example/b">b</a>'
    site = make_site({"/": (200, {"Content-Type": "text/html; charset=iso-8859-1"}, page)})

    (fetch,) = attempt(f"{site.url}/")

    assert (fetch.status, fetch.sentence, fetch.title, fetch.address, fetch.address_class) == (
        200,
        "200 OK",
        "Hello",
        "127.0.0.1",
        "loopback",
    )
    assert (fetch.content_type, fetch.charset, fetch.bytes, fetch.links) == (
        "text/html",
        "windows-1252",
        len(page),
        2,
    )
    assert fetch.robots == "there is no robots.txt: allowed"
    assert [(verdict.url, verdict.why_not) for verdict in fetch.verdicts] == [
        (f"{site.url}/a", ""),
        ("http://other.example/b", "other.example is no host of a start URL"),
    ]


def test_a_page_that_needs_a_browser_is_told_with_a_link_to_the_choice(attempt, make_site):
    site = make_site({"/": SHELL, "/plain": "<title>Plain</title>" + "a word " * 200})
    (app, plain) = attempt(f"{site.url}/", f"{site.url}/plain")
    assert (app.needs_browser, plain.needs_browser) == (True, False)

    def link_beside(fetch):
        told = render_to_string("crawling/_test_fetch.html", {"fetches": [fetch]})
        return [link["href"] for link in BeautifulSoup(told, "html.parser").select(".warning a")]

    assert (link_beside(app), link_beside(plain)) == (["#id_render"], [])


def test_a_depth_of_0_leaves_all_links_out(attempt, make_site):
    (fetch,) = attempt(f"{make_site({'/': '<a href=/a>a</a>'}).url}/", max_depth=0)

    assert [verdict.why_not for verdict in fetch.verdicts] == ["the depth is limited to 0"]


def test_robots_txt_is_obeyed_and_its_line_is_quoted(attempt, make_site):
    site = make_site(
        {
            "/robots.txt": "User-agent: *\nAllow: /\nDisallow: /b\nDisallow: /secret # keep "
            "out\nCrawl-delay: 0.2",
            "/secret": "x",
        }
    )

    (fetch,) = attempt(f"{site.url}/secret")

    assert fetch.robots == "forbidden by “Disallow: /secret # keep out”"
    assert (fetch.delay, fetch.status, fetch.sentence) == (
        0.2,
        -8,
        "The site's robots.txt forbids this page.",
    )
    assert site.paths == []


def test_the_forbidding_line_is_that_of_our_own_group():
    body = b"User-agent: *\nDisallow: /a\n\nUser-agent: crawlsite\nDisallow: /a/b"

    assert forbidding_line(body, "crawlsite", "https://example.org/a/b") == "Disallow: /a/b"
    assert forbidding_line(body, "crawlsite", "https://example.org/a") == ""


def test_a_redirect_tells_its_target_and_is_not_followed(attempt, make_site):
    site = make_site({"/": (301, {"Location": "/new"}, ""), "/new": "x"})

    (fetch,) = attempt(f"{site.url}/")

    assert (fetch.status, fetch.final_url, site.paths) == (301, f"{site.url}/new", ["/"])


def test_what_fails_says_why(attempt, identified, make_site, free_port):
    gone, closed, refused = attempt(
        f"{make_site({}).url}/gone", f"http://127.0.0.1:{free_port}/", "http://127.0.0.1:81/"
    )

    assert (gone.status, gone.sentence) == (404, "404 Not Found")
    assert closed.robots == "could not be had"
    assert closed.sentence.startswith("The site's robots.txt could not be had")
    assert "no administrator has allowed it on port 81" in refused.sentence


def test_only_the_first_ten_are_tried_one_at_a_time_with_the_delay_between(attempt, make_site):
    site = make_site({f"/{number}": "x" for number in range(12)})

    fetches = attempt(*(f"{site.url}/{number}" for number in range(12)), delay_seconds=0.05)

    assert len(fetches) == 10
    assert site.paths == [f"/{number}" for number in range(10)]
    moments = [request.at for request in site.log]
    assert all(after - before >= 0.05 for before, after in pairwise(moments))


def test_a_delay_too_long_for_the_page_is_told_and_not_waited_for(attempt, make_site):
    site = make_site({"/robots.txt": "User-agent: *\nCrawl-delay: 120", "/": "x"})
    begun = time.monotonic()

    (fetch,) = attempt(f"{site.url}/")

    assert fetch.note.startswith("Not tried: with 120 s between two fetches")
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

    fetches = attempt(f"{busy.url}/", f"{resting.url}/")

    assert all("Try again in a moment" in fetch.note for fetch in fetches)
    assert busy.log == resting.log == []


def test_a_borrowed_host_is_nobody_elses(db):
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
    inquiry, mistakes = request_test_fetch(
        {"name": "x", "seeds": ["nonsense"], "delay_seconds": "x"},
        by=None,
    )

    assert inquiry is None
    assert set(mistakes) == {"seeds", "delay_seconds"}


def test_a_real_site_is_not_tried_before_we_said_who_we_are(pool, loopback):
    fields = {"name": "x", "seeds": ["https://example.org/"]}
    mistakes = request_test_fetch(fields, by=None)[1]
    assert "before the first crawl of a public site" in mistakes["contact_url"]


def answer_all() -> None:
    """Do the work of the worker of the background jobs."""
    for inquiry in Inquiry.objects.filter(ended_at=None):
        run_job(inquiry.pk)


def test_without_scripts_the_form_comes_back_filled_in_with_the_answers(pool, loopback, make_site):
    site, user = make_site({"/": "<title>&lt;Hello&gt;</title>"}), browser("operator")
    form = {"seeds": f"{site.url}/", "name": "<Mine>", "max_pages": "7", "delay_seconds": "0"}

    asked = user.post(reverse(TRY), form)
    waiting = soup(user.get(asked["Location"]))
    answer_all()
    page = soup(user.get(asked["Location"]))

    assert waiting.select_one('noscript meta[http-equiv="refresh"]')
    assert "waits for a background worker" in waiting.find(id="test-fetch").get_text()
    assert not page.select('meta[http-equiv="refresh"]')
    assert "<Hello>" in page.find(id="test-fetch").get_text()
    assert page.find("textarea").get_text().strip() == f"{site.url}/"
    assert page.find(attrs={"name": "name"})["value"] == "<Mine>"
    assert page.find(attrs={"name": "max_pages"})["value"] == "7"
    assert not page.select("p.error")


def test_with_scripts_a_part_asks_again_until_the_answers_are_there(pool, loopback, make_site):
    site, user = make_site({"/": "x"}), browser("operator")
    form = {"seeds": f"{site.url}/", "delay_seconds": "0", "preset": "fast"}
    by_script = {"HX-Request": "true"}

    waiting = user.post(reverse(TRY), form, headers=by_script)
    answer_all()
    place = soup(waiting).div["hx-get"]
    answer = user.get(place, headers=by_script)

    assert b"<form" not in waiting.content + answer.content
    assert "200 OK" in soup(answer).get_text()
    assert not soup(answer).select("[hx-get]")


def test_nobody_else_sees_what_a_test_fetch_found(pool, loopback, make_site):
    site, user = make_site({"/": "x"}), browser("operator")
    place = user.post(reverse(TRY), {"seeds": f"{site.url}/"})["Location"]

    other = Client()
    other.force_login(User.objects.create_superuser("somebody else"))

    assert other.get(place).status_code == 404


def test_the_web_process_asks_nobody_and_keeps_the_secrets_sealed(pool, loopback, make_site):
    site = make_site({"/": "x"})
    form = {"seeds": f"{site.url}/", "headers": "X-Key: hunter2", "delay_seconds": "0"}

    browser("operator").post(reverse(TRY), form)

    assert site.log == []
    assert "hunter2" not in str(list(Inquiry.objects.values()))
    answer_all()
    assert site.log[-1].headers["X-Key"] == "hunter2"


def test_a_question_whose_secrets_cannot_be_read_ends_at_once_and_says_so(
    pool, loopback, make_site
):
    site, user = make_site({"/": "x"}), browser("operator")
    form = {"seeds": f"{site.url}/", "headers": "X-Key: hunter2", "delay_seconds": "0"}
    place = user.post(reverse(TRY), form)["Location"]

    with override_settings(SECRET_KEY="another"):
        log_in(user, User.objects.get(username="operator"))
        answer_all()
        shown, form = soup(user.get(place)).find(id="test-fetch"), soup(user.get(place)).textarea

    inquiry = Inquiry.objects.get()
    assert (inquiry.state, inquiry.trouble, site.log) == ("failed", str(SealBroken()), [])
    assert str(SealBroken()) in shown.get_text()
    assert not shown.select("[hx-get]")
    assert not form.get_text().strip()


@pytest.mark.parametrize("kind", [InquiryKind.RUN_CHANGES, TEXT_COPIES.name])
def test_a_question_whose_secrets_cannot_be_read_can_be_cancelled_and_not_asked_again(db, kind):
    user = browser("viewer")
    by = User.objects.get(username="viewer")
    inquiries = [
        start_inquiry(kind, {"text": "one", "run": 1, "wanted": part}, by=by) for part in "ab"
    ]

    with override_settings(SECRET_KEY="another"):
        log_in(user, by)
        user.post(reverse("crawling:cancel_inquiry", args=[inquiries[0].pk]))
        asked = user.post(reverse("crawling:ask-again", args=[inquiries[0].pk]), follow=True)

    assert [Inquiry.objects.get(pk=one.pk).state for one in inquiries] == ["cancelled", "waiting"]
    assert Inquiry.objects.count() == 2
    assert str(SealBroken()) in soup(asked).get_text()


def test_a_test_fetch_holds_a_grant_while_it_fetches_and_no_worker_seat(attempt, make_site):
    held = []

    def look():
        row = Process.objects.get(label="test fetch 0")
        pool = row.pool
        keys = pool.classes.values_list("key", flat=True)
        held.append(dict(zip(keys, row.allocated, strict=True)))

    site = make_site({"/": acting(look)})
    attempt(f"{site.url}/")

    assert held == [
        {
            "worker": 0,
            "fetch_slots": 1,
            "bandwidth": 4096,
            "memory": 3,
            "dns_slots": 1,
            "archive_writers": 0,
        }
    ]
    assert not Process.objects.filter(holding=True).exists()
    assert not Process.objects.filter(state="active").exists()


def test_without_a_grant_nothing_is_fetched(pool, loopback, make_site, monkeypatch):
    monkeypatch.setattr(test_fetch, "GRANT_SECONDS", 0.3)
    site, user = make_site({"/": "x"}), browser("operator")
    with temporary_grant({"fetch_slots": 64}, label="all", reference="all", wait_seconds=5):
        place = user.post(reverse(TRY), {"seeds": f"{site.url}/"})["Location"]
        answer_all()

    assert NoUnits.__doc__ in user.get(place).content.decode()
    assert site.log == []
    assert not Process.objects.filter(holding=True).exists()


def test_units_that_are_held_outlive_the_lease_and_are_told_to_be_lost(pool, settings):
    settings.BANK_LEASE_SECONDS = 0.6
    with temporary_grant({"memory": 3}, label="a", reference="a", wait_seconds=5) as (units, lost):
        assert units == {"memory": 3}
        assert not lost.wait(1.2)
        reap_expired()
        assert Process.objects.filter(holding=True).exists()
        while not reap_expired():  # the lease may be renewed in between
            Process.objects.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))
        assert lost.wait(5)


def test_what_a_killed_worker_left_is_ended_and_old_answers_go(pool, loopback):
    question = (InquiryKind.TEXT_DIFF, {"old": 1, "new": 2})
    inquiry = ask_once(*question, by=None)
    Inquiry.objects.update(began_at=timezone.now())
    reference = f"moment/{inquiry.pk}"
    claim = {"memory": 3}
    process = register_process(pool=pool.pk, label="x", run_ref=reference, maximum=claim)
    Inquiry.objects.update(asked_at=timezone.now() - timezone.timedelta(minutes=5))
    end_and_delete_old_jobs()

    inquiry.refresh_from_db()
    assert inquiry.state == "failed"
    assert "No background worker has answered in time" in inquiry.why_failed
    assert Process.objects.get(pk=process.pk).state == "finished"
    assert ask_once(*question, by=None) == inquiry  # a failure is told to the page that waits
    Inquiry.objects.update(ended_at=timezone.now() - FAILURE_KEPT)
    assert ask_once(*question, by=None) != inquiry

    Inquiry.objects.update(asked_at=timezone.now() - timezone.timedelta(hours=2))
    end_and_delete_old_jobs()
    assert not Inquiry.objects.exists()


def test_robots_txt_that_leads_to_a_host_of_a_crawl_is_not_fetched_there(attempt, make_site):
    other = make_site({"/robots.txt": "User-agent: *\nDisallow: /"}, address="127.0.0.2")
    moved = (301, {"Location": f"{other.url}/robots.txt"}, "")
    site = make_site({"/robots.txt": moved, "/": "x"})
    later = timezone.now() + timezone.timedelta(minutes=1)
    Host.objects.create(name=f"127.0.0.2:{other.port}", due_at=later)

    (fetch,) = attempt(f"{site.url}/")

    assert other.log == []
    assert fetch.robots == "could not be had"
    Host.objects.filter(name=f"127.0.0.2:{other.port}").update(due_at=timezone.now())
    (fetch,) = attempt(f"{site.url}/", delay_seconds=20)
    assert fetch.robots == "forbidden by “Disallow: /”"
    rest = Host.objects.get(name=f"127.0.0.2:{other.port}").due_at - timezone.now()
    assert rest.total_seconds() > 5


def test_the_background_worker_answers(transactional_db, pool, loopback, make_site, tmp_path):
    django_rq.get_queue("background").empty()
    site, user = make_site({"/": "<title>Hello</title>"}), browser("operator")
    place = user.post(reverse(TRY), {"seeds": f"{site.url}/", "delay_seconds": "0"})["Location"]
    with running_stack(tmp_path) as stack:
        stack.start(["rqworker", "background", "--burst", "--serializer", "json"])
        wait_until(lambda: "Hello" in user.get(place).content.decode())
