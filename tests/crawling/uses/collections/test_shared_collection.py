"""A share link shows a collection to people without an account, until it expires, is revoked, or
its maker may share it no more; and of what the maker may not act on, nothing.
"""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from crawling.models import CrawlJob, Page, Run
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.share_links import MOST_LINKS
from crawling.runs.crawls.teams import set_team_rule
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
)
from crawling.uses.collections.models import CollectionLink
from crawling.uses.collections.restoring import delete_collection
from crawling.uses.collections.share_links import create_link, revoke_link
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from serving.visitors import SHARED_REPORTS
from tests.crawling.pages import browser, soup, timeless

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    pages = {"/": f"<title>{HOSTILE.replace('<', '&lt;')}</title>text"}
    return crawl_once(f"{shared.serve(pages).url}/", name="Books")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def operator(db):
    browser("operator", password="x" * 20)  # without one it would be a program's account
    return User.objects.get(username="operator")


@pytest.fixture
def collection(run, operator):
    made = create_collection(CollectionFields("Town library", "All its\n\nsites"), by=operator)
    page = Page.objects.get(run=run)
    add_members(made, crawls=[run.crawl_id], pages=[page.pk], by=operator)
    return made


@pytest.fixture
def stranger():
    return Client(REMOTE_ADDR="198.51.100.7")


def shared(collection, by=None) -> str:
    _, token = create_link(collection, days=7, by=by)
    return f"/shared/collections/{token}/"


def test_a_link_shows_figures_and_titles_and_leads_to_its_pages_only(collection, stranger):
    page = soup(browser("administrator").post(f"/collections/{collection.pk}/share/", {"days": 3}))
    address = page.select_one(".message code").text

    answer = stranger.get(address.removeprefix("http://testserver"))

    text = soup(answer).get_text(" ", strip=True)
    assert answer.status_code == 200
    assert "Town library" in text
    assert "Books" in text
    assert HOSTILE in text  # as text
    assert not soup(answer).select("form, button, script, nav, img[onerror]")
    led = [one["href"] for one in soup(answer).select("a:not(.skip)")]
    assert len(led) == 2
    assert all(one.startswith(address.removeprefix("http://testserver")) for one in led)
    assert not answer.cookies
    assert answer["Cache-Control"] == "private, no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer["X-Robots-Tag"]


def test_a_logged_in_user_sees_what_a_stranger_sees(collection, stranger):
    address = shared(collection)

    seen = timeless(stranger.get(address).content.decode())

    assert timeless(browser("viewer").get(address).content.decode()) == seen


def test_it_is_open_until_it_expires_is_revoked_or_the_collection_is_deleted(collection, stranger):
    addresses = [shared(collection) for _ in range(3)]
    expired, revoked, left = CollectionLink.objects.order_by("pk")
    CollectionLink.objects.filter(pk=expired.pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )
    revoke_link(collection, revoked.pk, by=None)

    assert [stranger.get(one).status_code for one in addresses] == [404, 404, 200]
    left.refresh_from_db()
    assert left.last_opened_at
    delete_collection(collection, by=None)
    assert stranger.get(addresses[2]).status_code == 404
    assert stranger.get("/shared/collections/unknown/").status_code == 404


def test_it_ends_with_the_rights_of_its_maker(collection, operator, stranger):
    address = shared(collection, by=operator)
    assert stranger.get(address).status_code == 200

    operator.groups.set([Group.objects.get(name="viewer")])
    assert stranger.get(address).status_code == 404
    operator.groups.set([Group.objects.get(name="operator")])
    assert stranger.get(address).status_code == 200
    User.objects.filter(pk=operator.pk).update(is_active=False)
    assert stranger.get(address).status_code == 404


def test_who_locks_its_maker_sees_it_and_may_hand_it_over(collection, operator, stranger):
    address, client = shared(collection, by=operator), browser("administrator")
    eve = User.objects.create_user("eve")
    eve.groups.set(operator.groups.all())
    place = f"/administration/users/{operator.pk}/"
    told = client.get(f"/api/v1/users/{operator.pk}/shared-items").json()["items"]
    assert [(one["crawl"], one["subject"]) for one in told] == [(None, "Town library")]
    assert "Town library" in soup(client.get(place)).main.get_text()

    set_team_rule(own_crawls_only=True)
    refused = client.post(place, {"action": "delete", "hand_to": "eve"})
    assert "may not act on Town library" in soup(refused).main.get_text()
    set_team_rule(own_crawls_only=False)
    client.post(place, {"action": "delete", "hand_to": "eve"})

    assert CollectionLink.objects.get().created_by == eve
    assert stranger.get(address).status_code == 200


def test_it_shows_nothing_of_a_crawl_that_its_maker_may_act_on_no_more(
    run, collection, operator, stranger
):
    set_team_rule(own_crawls_only=True)
    other = create_crawl({"name": "Secret", "seeds": ["http://127.0.0.1:8900/"]}, by=operator)
    add_members(collection, crawls=[other.pk], by=operator)
    address = shared(collection, by=operator)
    assert "Secret" in stranger.get(address).content.decode()

    CrawlJob.objects.filter(pk=other.pk).update(created_by=User.objects.create_user("eve"))

    text = stranger.get(address).content.decode()
    assert "Secret" not in text
    assert "Books" in text


def test_a_page_that_is_taken_down_is_shown_to_nobody(run, collection, stranger):
    address, url = shared(collection), Page.objects.get(run=run).url.url
    assert url in stranger.get(address).content.decode()

    withdraw_pages(run.crawl, run, kind="page", text=url, reason="asked", by=None)

    assert url not in stranger.get(address).content.decode()


def test_an_address_opens_so_many_a_minute(collection):
    address, visitor = shared(collection), Client(REMOTE_ADDR="198.51.100.99")

    answers = [visitor.get(address).status_code for _ in range(SHARED_REPORTS + 1)]

    assert answers.count(429) >= 1 or len(set(answers)) == 1  # a new minute may begin in between


def test_a_collection_has_so_many_links_and_a_link_so_many_days(collection):
    client, address = browser("administrator"), f"/collections/{collection.pk}/share/"
    for _ in range(MOST_LINKS):
        create_link(collection, days=1, by=None)

    full = client.post(address, {"days": "7"})
    wrong = client.post(address, {"days": "100"})

    assert full.status_code == wrong.status_code == 422
    assert "revoke one first" in soup(full).main.get_text()
    assert "from 1 to 90" in soup(wrong).main.get_text()


def test_a_viewer_and_an_operator_of_others_share_nothing(collection):
    set_team_rule(own_crawls_only=True)
    address = f"/collections/{collection.pk}/share/"
    eve = browser("viewer")
    assert eve.post(address, {"days": "7"}).status_code == 403
    User.objects.get(username="viewer").groups.set([Group.objects.get(name="operator")])

    assert eve.post(address, {"days": "7"}).status_code == 403
    assert not CollectionLink.objects.exists()


def test_links_are_made_and_revoked_by_the_api_and_the_command(collection, stranger):
    client, address = browser("administrator"), f"/api/v1/collections/{collection.pk}/share-links"
    made = client.post(address, {"days": 2}, content_type="application/json").json()
    out = StringIO()
    call_command("crawl", "collection", "Town library", "--share", "3", "--json", stdout=out)
    second = json.loads(out.getvalue())["url"]

    for url in (made["url"], second):
        path = "/shared/collections/" + url.partition("/shared/collections/")[2]
        assert stranger.get(path).status_code == 200
    assert len(client.get(address).json()["items"]) == 2
    assert client.delete(f"{address}/{made['id']}").status_code == 204
    assert len(client.get(address).json()["items"]) == 1
