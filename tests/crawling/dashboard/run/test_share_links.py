"""A share link shows one crawl's report to people without an account, until it expires or is
revoked, and nothing else.
"""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from itertools import count

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from crawling.base.errors import WrongState
from crawling.models import CrawlJob, ShareLink, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.share_links import MOST_LINKS, create_share_link
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.start import start_run
from serving.visitors import SHARED_REPORTS
from tests.crawling.pages import browser, soup, timeless

ADDRESSES = count(1)


@pytest.fixture
def stranger():
    """A browser without an account, at an address of its own: requests are counted by address."""
    number = next(ADDRESSES)
    return Client(REMOTE_ADDR=f"192.0.2.{number % 250 + 1}", HTTP_X_FORWARDED_FOR="")


@pytest.fixture
def crawl(order):
    return create_crawl(order("http://127.0.0.1:8900/", name="Manuals"))


def shared(crawl, days=7):
    _, token = create_share_link(crawl, days=days, by=None)
    return f"/shared/{token}/"


def test_an_operator_creates_a_link_that_opens_the_report_without_a_log_in(
    make_site, crawl_to_the_end, stranger
):
    site = make_site({"/": "<title>Start</title><a href='/gone'>x</a>"})
    crawl = crawl_to_the_end(f"{site.url}/", name="Manuals").crawl

    page = soup(browser("operator").post(f"/crawls/{crawl.pk}/share/", {"days": "3"}))
    address = page.select_one(".message code").text
    report = stranger.get(address.removeprefix("http://testserver"))
    text = soup(report).get_text(" ", strip=True)

    assert report.status_code == 200
    assert "Manuals" in text
    assert "finished" in text
    assert "Start" in text
    assert "404" in text
    assert not soup(report).select("form, button, script, nav")
    links = soup(report).select("a[href]:not(.skip, [href^='?kind='])")
    assert {link["href"] for link in links} == {"?fixes=all", "?file=fixes"}
    assert not report.cookies


def test_an_address_that_works_on_this_machine_only_says_so(crawl):
    operator, page = browser("operator"), f"/crawls/{crawl.pk}/share/"
    only_here = "This address works on this machine only"

    here = operator.post(page, {"days": "3"}, headers={"Host": "127.0.0.1:8000"})
    public = operator.post(page, {"days": "3"})

    assert only_here in here.content.decode()
    assert only_here not in public.content.decode()


def test_the_page_is_not_kept_by_caches_nor_listed_nor_told_to_other_sites(crawl, stranger):
    for address in (shared(crawl), "/shared/unknown/"):
        answer = stranger.get(address)

        assert answer["Cache-Control"] == "private, no-store"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert "noindex" in answer["X-Robots-Tag"]
        assert "script-src 'self'" in answer["Content-Security-Policy"]
        assert "noindex" in soup(answer).select_one("meta[name=robots]")["content"]


def test_the_token_is_not_stored_and_not_shown_again(crawl):
    operator = browser("operator")
    page = soup(operator.post(f"/crawls/{crawl.pk}/share/", {"days": "3"}))
    token = page.select_one(".message code").text.split("/")[-2]

    assert len(token) >= 43
    assert token not in str(list(ShareLink.objects.values()))
    assert token not in str(list(LogEntry.objects.values()))
    assert token not in operator.get(f"/crawls/{crawl.pk}/share/").content.decode()


def test_unknown_expired_revoked_and_deleted_are_answered_alike(crawl, order, stranger):
    expired, revoked = shared(crawl), shared(crawl)
    first, second = ShareLink.objects.order_by("pk")
    ShareLink.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    browser("operator").post(f"/crawls/{crawl.pk}/share/{second.pk}/revoke/")
    gone = create_crawl(order("http://127.0.0.1:8900/", name="Gone"))
    deleted = shared(gone)
    delete_crawl(gone, by=None)

    answers = [stranger.get(address) for address in ("/shared/x/", expired, revoked, deleted)]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1


def test_links_of_a_crawl_that_is_deleted_for_good_are_gone(crawl, stranger):
    address = shared(crawl)
    delete_crawl(crawl, by=None, for_good=True)

    assert stranger.get(address).status_code == 404
    assert not ShareLink.objects.exists()


def test_a_link_opens_its_own_crawl_only_and_no_other_page(crawl, order, stranger):
    other = create_crawl(order("http://127.0.0.1:8900/", name="Payroll"))
    address, token = shared(crawl), shared(crawl).split("/")[-2]

    assert "Payroll" not in stranger.get(f"{address}?crawl={other.pk}&pk={other.pk}").text
    assert stranger.get(f"{address}pages/").status_code == 404
    assert stranger.get(f"/crawls/{crawl.pk}/?token={token}").status_code == 302
    assert stranger.get(f"/crawls/{crawl.pk}/pages/?token={token}").status_code == 302
    wrong = stranger.get(f"/api/v1/crawls/{crawl.pk}", HTTP_AUTHORIZATION=f"Bearer {token}")
    assert wrong.status_code == 401


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nothing_can_be_done_by_a_link(crawl, stranger, method):
    address = shared(crawl)

    assert getattr(stranger, method)(address).status_code == 405
    assert stranger.get(address).status_code == 200


def test_passwords_user_names_and_secrets_of_requests_are_not_shown(
    make_site, crawl_to_the_end, stranger
):
    site = make_site({"/": "<title>Start</title>"})
    fields = {"headers": {"X-Key": "s3cret-header"}, "cookies": True}
    run = crawl_to_the_end(f"{site.url}/", name="Manuals", **fields)
    CrawlJob.objects.filter(pk=run.crawl_id).update(seeds=["http://ada:s3cret@a.test/x@y"])
    Url.objects.filter(run=run).update(url="http://t0ken@a.test/p?mail=b@c.test")

    text = stranger.get(shared(run.crawl)).text

    assert "http://•••@a.test/x@y" in text
    assert "http://•••@a.test/p?mail=b@c.test" in text
    assert [word for word in ("ada", "s3cret", "t0ken", "X-Key") if word in text] == []


def test_why_a_run_waits_or_failed_is_not_told_as_it_may_name_other_crawls(crawl, stranger):
    run = start_run(crawl)
    address = shared(crawl)
    for state in ("queued", "running", "failed"):
        type(run).objects.filter(pk=run.pk).update(state=state, reason="Held by Payroll.")

        assert "Payroll" not in stranger.get(address).text


def test_whoever_is_logged_in_sees_the_same_as_a_stranger(crawl, stranger):
    address, operator = shared(crawl), browser("operator")
    operator.post(f"/crawls/{crawl.pk}/retry/")  # leaves a message for the next page

    assert timeless(operator.get(address).text) == timeless(stranger.get(address).text)


def test_an_address_opens_so_many_in_a_minute_and_guesses_count(crawl, stranger):
    address = shared(crawl)
    # the clock's minute may end meanwhile, and the count begins anew
    answers = [stranger.get("/shared/guess/") for _ in range(2 * SHARED_REPORTS + 2)]

    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused
    assert int(refused[0]["Retry-After"]) <= 60
    assert Client(REMOTE_ADDR="198.51.100.7").get(address).status_code == 200


def test_the_activity_tells_who_shared_and_who_revoked(crawl):
    operator = browser("operator")
    operator.post(f"/crawls/{crawl.pk}/share/", {"days": "3"})
    link = ShareLink.objects.get()
    operator.post(f"/crawls/{crawl.pk}/share/{link.pk}/revoke/")

    rows = LogEntry.objects.filter(object_id=str(crawl.pk), user__username="operator")
    assert [json.loads(row.change_message)["action"] for row in rows.order_by("pk")] == [
        "created a share link",
        "revoked a share link",
    ]


def test_only_operators_see_and_make_links_and_only_of_the_crawl_that_is_named(crawl, order):
    shared(crawl)
    link, other = ShareLink.objects.get(), create_crawl(order("http://127.0.0.1:8900/", name="b"))

    assert browser("viewer").post(f"/crawls/{crawl.pk}/share/").status_code == 403
    answer = browser("operator").post(f"/crawls/{other.pk}/share/{link.pk}/revoke/")
    assert answer.status_code == 404
    assert ShareLink.objects.filter(pk=link.pk).exists()


@pytest.mark.parametrize("days", ["", "0", "91", "-1", "x", "1e9", "9" * 30])
def test_days_that_cannot_be_are_refused_beside_the_field(crawl, days):
    answer = browser("operator").post(f"/crawls/{crawl.pk}/share/", {"days": days})

    assert answer.status_code == 422
    assert "from 1 to 90" in soup(answer).select_one(".error").text
    assert not ShareLink.objects.exists()


def test_a_crawl_has_so_many_links_and_expired_ones_make_room(crawl):
    for _ in range(MOST_LINKS):
        shared(crawl)
    with pytest.raises(WrongState, match="revoke one first"):
        shared(crawl)

    ShareLink.objects.filter(pk=ShareLink.objects.earliest("pk").pk).update(
        expires_at=timezone.now()
    )
    assert shared(crawl)


def test_programs_create_list_and_revoke(crawl, stranger):
    operator, links = browser("operator"), f"/api/v1/crawls/{crawl.pk}/share-links"

    created = operator.post(links, {"days": 2}, content_type="application/json")
    body = created.json()

    assert created.status_code == 201
    assert stranger.get(body["url"].removeprefix("http://testserver")).status_code == 200
    (listed,) = operator.get(links).json()["items"]
    assert (listed["id"], listed["created_by"]) == (body["id"], "operator")
    assert listed["last_opened_at"] is not None
    assert "url" not in listed
    assert operator.delete(f"{links}/{body['id']}").status_code == 204
    assert operator.delete(f"{links}/{body['id']}").status_code == 404
    assert operator.post(links, {"days": 91}, content_type="application/json").status_code == 422


def test_the_command_line_creates_lists_and_revokes(crawl, stranger):
    def said(*options):
        call_command("crawl", "share", "Manuals", *options, stdout=(out := StringIO()))
        return out.getvalue()

    address = "/shared/" + said("--days", "2").partition("/shared/")[2].split()[0]
    link = ShareLink.objects.get()

    assert stranger.get(address).status_code == 200
    assert json.loads(said("--list", "--json"))[0]["id"] == link.pk
    assert f"{link.pk}  expires" in said("--list")
    assert f"Share link {link.pk} is revoked." in said("--revoke", str(link.pk))
    assert stranger.get(address).status_code == 404
    with pytest.raises(CommandError, match="no share link"):
        said("--revoke", str(link.pk))
