"""A share link shows the stored pages of a collection as they looked, and no page outside of it,
whatever number or address is asked for.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import count

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils import timezone

from crawling.dashboard.base import visitor_pages
from crawling.models import CrawlJob, Page, Run
from crawling.runs.crawls.teams import set_team_rule
from crawling.uses.collections import visitor_views
from crawling.uses.collections.changes import CollectionFields, add_members, create_collection
from crawling.uses.collections.models import CollectionLink
from crawling.uses.collections.share_links import create_link, revoke_link
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup

HOSTILE = "<script>alert(1)</script>"
SITE = {
    "/": (
        "<title>Home of &lt;script&gt;alert(1)&lt;/script&gt;</title><style>p{color:red}</style>"
        f'{HOSTILE}<a href="/a">a</a> <a href="/b">b</a> <a href="http://elsewhere.test/">out</a>'
        "<form action=/log-out/ method=post><button>go</button></form>"
    ),
    "/a": "<title>Opening hours</title>first",
    "/b": "<title>Catalogue</title>other",
}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    first = crawl_once(f"{shared.serve(SITE).url}/", name="Library")
    second = crawl_once(f"{shared.serve(SITE).url}/", name="Secret")
    return first, second


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled[0].pk)


@pytest.fixture
def secret(crawled, db):
    return Run.objects.get(pk=crawled[1].pk)


#: each visitor has another, since an address opens so many links a minute
ADDRESSES = count(1)


@pytest.fixture
def stranger():
    return Client(REMOTE_ADDR=f"198.51.101.{next(ADDRESSES)}")


def page_of(run, path) -> Page:
    return Page.objects.get(run=run, url__url__endswith=path)


def link_to(crawls=(), pages=(), by=None) -> tuple[CollectionLink, str]:
    made = create_collection(CollectionFields("Town"), by=by)
    add_members(made, crawls=crawls, pages=pages, by=by)
    link, token = create_link(made, days=7, by=by)
    return link, f"/shared/collections/{token}/"


def frame_of(client, address, page) -> str:
    return soup(client.get(f"{address}pages/{page.pk}/")).find("iframe")["src"]


def test_a_visitor_opens_a_page_as_it_looked_with_three_clicks(run, stranger):
    _, address = link_to([run.crawl_id])

    crawl = soup(stranger.get(address)).find("a", string="Library")["href"]
    listed = soup(stranger.get(crawl))
    page = stranger.get(listed.find("a", string="Home of <script>alert(1)</script>")["href"])
    frame = soup(page).find("iframe")
    shown = stranger.get(frame["src"])

    assert "".join(frame["sandbox"]) == ""
    assert "<style>p{color:red}</style>" in shown.content.decode()
    assert HOSTILE not in shown.content.decode()
    assert "<form" not in shown.content.decode()
    assert not soup(page).select("script, form, nav.places")
    assert shown["Content-Security-Policy"].startswith("sandbox; default-src 'none'; img-src data:")
    assert shown["X-Frame-Options"] == "SAMEORIGIN"
    assert "noindex" in shown["X-Robots-Tag"]
    assert not shown.cookies
    assert page["Referrer-Policy"] == shown["Referrer-Policy"] == "no-referrer"


def test_links_of_a_page_lead_to_pages_of_the_collection_only(run, stranger):
    _, address = link_to(pages=[page_of(run, "/").pk, page_of(run, "/a").pk])
    shown = soup(stranger.get(frame_of(stranger, address, page_of(run, "/"))))

    targets = {link.text: link.get("href") for link in shown.find_all("a")}

    assert "first" in stranger.get(targets["a"]).content.decode()
    assert targets["b"] is None
    assert targets["out"] is None


def test_the_document_of_a_stranger_never_has_the_link(run, stranger):
    _, address = link_to([run.crawl_id])
    token = address.rstrip("/").rpartition("/")[2]

    shown = stranger.get(frame_of(stranger, address, page_of(run, "/")))

    assert token not in shown.content.decode()


def test_no_number_opens_a_page_outside_of_the_collection(run, secret, stranger):
    """Neither a neighbour in the same run, nor a page of another crawl."""
    single = page_of(run, "/a")
    _, address = link_to(pages=[single.pk])
    frame = frame_of(stranger, address, single)
    others = Page.objects.exclude(pk=single.pk).values_list("pk", flat=True)
    assert len(others) == 5

    for number in (*others, 0, 10**30):
        assert stranger.get(f"{address}pages/{number}/").status_code == 404
        place = frame.replace(f"/stored/{single.pk}/", f"/stored/{number}/")
        assert (stranger.get(place).status_code, number) == (404, number)
    for crawl in (run.crawl_id, secret.crawl_id, 0):
        assert stranger.get(f"{address}?crawl={crawl}").status_code == 404


def test_pages_of_a_crawl_whose_maker_may_act_on_it_no_more_are_closed(run, secret, stranger):
    set_team_rule(own_crawls_only=True)
    browser("operator", password="x" * 20)
    operator = User.objects.get(username="operator")
    CrawlJob.objects.filter(pk__in=[run.crawl_id, secret.crawl_id]).update(created_by=operator)
    _, address = link_to([run.crawl_id], [page_of(secret, "/a").pk], by=operator)
    open_pages = [f"{address}pages/{page_of(one, '/a').pk}/" for one in (run, secret)]
    frames = [frame_of(stranger, address, page_of(one, "/a")) for one in (run, secret)]
    assert [stranger.get(one).status_code for one in open_pages] == [200, 200]

    eve = User.objects.create_user("eve")
    CrawlJob.objects.filter(pk__in=[run.crawl_id, secret.crawl_id]).update(created_by=eve)

    for one in (*open_pages, *frames, f"{address}?crawl={run.crawl_id}"):
        assert stranger.get(one).status_code == 404


@pytest.mark.parametrize("how", ["revoked", "expired", "maker", "page", "run", "crawl"])
def test_a_frame_closes_with_its_link_and_with_its_page(run, stranger, how):
    maker = User.objects.create_superuser("ada") if how == "maker" else None
    page = page_of(run, "/a")
    link, address = link_to([run.crawl_id], by=maker)
    frame = frame_of(stranger, address, page)
    assert stranger.get(frame).status_code == 200

    gone = {"removal_asked_at": timezone.now()}
    later = timezone.now() + timedelta(days=1)
    if how == "revoked":
        revoke_link(link.collection, link.pk, by=None)
    elif how == "expired":
        CollectionLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif how == "maker":
        User.objects.filter(pk=maker.pk).update(is_active=False)
    elif how == "page":
        withdraw_pages(run.crawl, run, kind="page", text=page.url.url, reason="asked", by=None)
    elif how == "run":
        Run.objects.filter(pk=run.pk).update(**gone, restorable_until=later)
    else:
        CrawlJob.objects.filter(pk=run.crawl_id).update(**gone, restorable_until=later)

    assert stranger.get(frame).status_code == 404
    assert stranger.get(f"{address}pages/{page.pk}/").status_code == 404


def test_a_frame_of_another_signature_opens_nothing(run, stranger):
    link, _ = link_to([run.crawl_id])
    page = page_of(run, "/a")

    for signed in (signing.dumps([link.pk], salt="other"), "x", "x:y:z"):
        place = f"/shared/collections/{signed}/stored/{page.pk}/"
        assert stranger.get(place).status_code == 404


def test_lists_are_searched_by_title_and_address(run, stranger):
    pages = [page_of(run, path).pk for path in ("/a", "/b")]
    _, address = link_to([run.crawl_id], pages)

    members = soup(stranger.get(f"{address}?q=opening")).select(".members tbody tr")
    listed = soup(stranger.get(f"{address}?crawl={run.crawl_id}&q=CATALOGUE"))
    none = soup(stranger.get(f"{address}?crawl={run.crawl_id}&type=pdf")).get_text()

    assert [row.a.text for row in members] == ["Opening hours"]
    assert [row.a.text for row in listed.select(".members tbody tr")] == ["Catalogue"]
    assert "No stored page matches" in none


def test_visitors_leave_threads_to_users(run, stranger, monkeypatch):
    _, address = link_to([run.crawl_id])
    frame = frame_of(stranger, address, page_of(run, "/a"))
    monkeypatch.setattr(visitor_views, "WAIT_SECONDS", 0.01)

    with visitor_views.PLACE:
        assert "in a moment" in stranger.get(frame).content.decode()
    taken = 0
    while visitor_pages.PAGES.acquire(blocking=False):
        taken += 1
    try:
        assert stranger.get(f"{address}?crawl={run.crawl_id}").status_code == 503
        assert "in a moment" in stranger.get(frame).content.decode()
    finally:
        visitor_pages.PAGES.release(taken)
    assert stranger.get(frame).status_code == 200
