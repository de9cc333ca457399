"""An answer that a crawl got because of its proxy, cookies or headers stays with it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from crawling.models import AllowedNetwork, Page
from crawling.orders.sections.fetching import FetchingPart
from crawling.runs.crawls.fetching_section import change_fetching_fields
from crawling.web.secret_headers import MASK, masked_head
from crawling.web.statuses import FetchStatus
from tests.crawling.fetching.pipeline.proxies import serve_proxy
from tests.crawling.pages import browser, soup

HTML = {"Content-Type": "text/html; charset=utf-8"}


def test_a_proxy_makes_answers_personal():
    assert FetchingPart(proxy="socks5://127.0.0.1:9").shows_itself
    assert not FetchingPart(proxy=None, headers={}).shows_itself


def test_pages_of_a_secret_header_are_not_reused_once_it_is_edited_out(make_site, crawl_to_the_end):
    site = make_site({"/": "for you alone"})
    first = crawl_to_the_end(f"{site.url}/", name="first", headers={"X-Key": "hunter2"})
    change_fetching_fields(first.crawl, {"headers": {}})
    first.crawl.save()

    second = crawl_to_the_end(f"{site.url}/", name="second", reuse_seconds=600)

    assert Page.objects.get(run=first).is_personal
    assert not Page.objects.get(run=second).is_personal
    assert Page.objects.get(run=second).reused_from is None
    assert site.paths.count("/") == 2


@pytest.fixture
def asks_by(request):
    """Fields of an order by which a site may know the crawl."""
    if request.param == "headers":
        yield {"headers": {"X-Key": "hunter2"}}
    else:
        with serve_proxy("socks5") as proxy:
            yield {"proxy": f"socks5://127.0.0.1:{proxy.port}"}


@pytest.mark.parametrize("asks_by", ["headers", "proxy"], indirect=True)
def test_robots_txt_as_one_crawl_is_told_binds_no_other(asks_by, make_site, crawl_to_the_end):
    closed = (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /")
    answers = iter([(404, {}, ""), closed])
    site = make_site({"/": "for you alone", "/robots.txt": lambda request: next(answers)})

    first = crawl_to_the_end(f"{site.url}/", name="first", **asks_by)
    second = crawl_to_the_end(f"{site.url}/", name="second")

    assert first.urls.get().status == 200
    assert second.urls.get().status == FetchStatus.ROBOTS_FORBID
    assert [request.path for request in site.log] == ["/robots.txt", "/", "/robots.txt"]


def test_viewers_see_that_cookies_were_set_and_not_their_values(make_site, crawl_to_the_end):
    site = make_site({"/": (200, {**HTML, "Set-Cookie": "session=hunter2; Path=/"}, "x")})
    run = crawl_to_the_end(f"{site.url}/", cookies=True)
    place = reverse("crawling:page", args=[run.crawl_id, Page.objects.get(run=run).pk])

    viewer, operator = browser("viewer").get(place), browser("operator").get(place)

    assert "hunter2" not in viewer.content.decode()
    assert f"Set-Cookie: {MASK}" in soup(viewer).get_text()
    assert "session=hunter2" in soup(operator).get_text()


@pytest.mark.parametrize("place", ["record", "document"])
def test_viewers_cannot_download_what_has_the_cookies(place, make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    page = reverse(f"crawling:page-{place}", args=[run.crawl_id, Page.objects.get(run=run).pk])

    assert browser("viewer").get(page).status_code == 403


def test_heads_are_masked_in_every_spelling():
    head = "HTTP/1.1 200 OK\r\nset-cookie : a=1\r\n b=2\r\nX: y\r\n z\r\nSet-Cookie2:c=3\r\n\r\n"

    shown = masked_head(head)

    expected = f"HTTP/1.1 200 OK\r\nset-cookie : {MASK}\r\nX: y\r\n z\r\n"
    assert shown == f"{expected}Set-Cookie2: {MASK}\r\n\r\n"


def test_a_form_leads_to_no_page_of_others(pool):
    chief = Client()
    chief.force_login(User.objects.create_superuser("chief"))
    asked = {"action": "pause", "next": "javascript:alert(1)"}

    page = soup(chief.post(reverse("crawling:bulk"), asked))

    assert "javascript" not in str(page)


def test_the_demos_address_is_closed_once_the_demo_is_off(db, settings):
    settings.DEMO = True
    call_command("set_up")
    own = AllowedNetwork.objects.create(network="127.0.0.1", port_from=9000, port_to=9000)
    assert AllowedNetwork.objects.count() == 2

    settings.DEMO = False
    call_command("set_up")

    assert list(AllowedNetwork.objects.all()) == [own]
