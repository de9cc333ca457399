"""The origin of the replay: WACZ files by token and range, without cookies; and who gets there."""

from __future__ import annotations

from wsgiref.util import setup_testing_defaults

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from crawling.exports.layout import read
from crawling.models import Page, Run
from crawling.wacz import access
from crawling.wacz.access import token_for
from crawling.withdrawals.withdrawing import withdraw
from crawlsite.replay.answers import answer_archive, asked_range
from tests.crawling.pages import browser, soup
from tests.crawling.wacz.test_wacz_file import made

RANGES = {
    "": None,
    "bytes=0-": (0, 100),
    "bytes=5-9": (5, 10),
    "bytes=90-200": (90, 100),
    "bytes=-10": (90, 100),
    "bytes=-200": (0, 100),
    "bytes=200-": (200, 100),
    "bytes=1-2,5-6": None,
    "lines=1-2": None,
    "bytes=a-b": None,
    f"bytes={'9' * 5000}-": None,
}


def ask(path, **headers):
    """Status, headers and content of an answer."""
    said = []
    environ = {"PATH_INFO": path, **headers}
    setup_testing_defaults(environ)
    content = b"".join(answer_archive(environ, lambda *facts: said.extend(facts)))
    return int(said[0].split()[0]), dict(said[1]), content


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve({"/": '<title>Home</title><a href="/a">a</a>', "/a": "<title>A</title>"})
    return crawl_once(f"{site.url}/")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def installed(settings, tmp_path):
    settings.REPLAY_DIR = tmp_path
    (tmp_path / "sw.js").touch()
    return settings


@pytest.mark.parametrize(("text", "found"), RANGES.items())
def test_one_range_is_read_as_rfc_9110_says(text, found):
    assert asked_range(text, 100) == found


def test_a_token_opens_one_file_in_parts_to_one_who_may(run, monkeypatch):
    row = made(run)
    content = b"".join(read(row, 0, row.bytes))
    user = User.objects.get(pk=browser("operator").session["_auth_user_id"])
    place = f"/archive/{token_for(user, row)}/run.wacz"

    status, headers, found = ask(place)
    assert (status, found) == (200, content)
    assert "Set-Cookie" not in headers
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    status, headers, found = ask(place, HTTP_RANGE="bytes=-100")
    assert (status, found) == (206, content[-100:])
    assert headers["Content-Range"] == f"bytes {row.bytes - 100}-{row.bytes - 1}/{row.bytes}"
    status, headers, found = ask(place, REQUEST_METHOD="HEAD", HTTP_RANGE="bytes=0-")
    assert (status, headers["Content-Length"], found) == (206, str(row.bytes), b"")
    assert ask(place, HTTP_RANGE=f"bytes={row.bytes}-")[0] == 416
    assert ask(place, REQUEST_METHOD="POST")[0] == 405
    assert ask("/crawls/")[0] == 404
    assert ask(place.replace("/archive/", "/archive/x"))[0] == 404

    with monkeypatch.context() as later:
        later.setattr(access, "LASTS", access.LASTS * 0)
        assert ask(place)[0] == 404
    user.groups.clear()
    assert ask(place)[0] == 404


def test_a_withdrawal_closes_what_was_open(run):
    row = made(run)
    operator = User.objects.get(pk=browser("operator").session["_auth_user_id"])
    place = f"/archive/{token_for(operator, row)}/run.wacz"
    assert ask(place)[0] == 200

    withdraw(run.crawl, None, kind="pattern", text="/a$", reason="x", by=None)

    assert ask(place)[0] == 404


def test_a_page_leads_to_its_replay_under_another_name_of_this_machine(run, installed):
    page = Page.objects.get(url__url__endswith="/a")
    address = reverse("crawling:replay", args=[run.crawl_id]) + f"?page={page.pk}"
    operator = browser("operator")
    assert browser("viewer").get(address).status_code == 403
    said = soup(operator.get(address, follow=True, headers={"Host": "127.0.0.1"})).get_text()
    assert "make it first" in said

    row = made(run)
    place = operator.get(address, headers={"Host": "127.0.0.1"})["Location"]
    origin = f"http://localhost:{installed.REPLAY_PORT}"
    assert place.startswith(f"{origin}/?source={origin.replace(':', '%3A').replace('/', '%2F')}")
    assert f"#view=pages&url={page.url.url.replace(':', '%3A').replace('/', '%2F')}&ts=20" in place
    assert row.bytes
    installed.REPLAY_URL = "https://replay.example.net"
    place = operator.get(address, headers={"Host": "127.0.0.1"})["Location"]
    assert place.startswith(
        "https://replay.example.net/?source=https%3A%2F%2Freplay.example.net%2F"
    )


def test_where_it_is_off_the_page_says_why(run, installed, tmp_path):
    made(run)
    installed.ALLOWED_HOSTS = ["crawls.example.org", "127.0.0.1"]
    address = reverse("crawling:wacz", args=[run.crawl_id])
    operator = browser("operator")

    def said(host):
        return soup(operator.get(address, headers={"Host": host})).get_text()

    assert "Replay is off" not in said("127.0.0.1")
    assert "Set REPLAY_URL" in said("crawls.example.org")
    (tmp_path / "sw.js").unlink()
    assert "Run make replay" in said("127.0.0.1")


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000"])
def test_a_form_that_an_archived_page_sends_is_refused(db, settings, host):
    """Even with the user's cookies: ports share them."""
    user = User.objects.create_superuser("root")
    client = Client(enforce_csrf_checks=True, headers={"Host": host})
    client.force_login(user)
    client.get("/account/preferences/")
    token = client.cookies["csrftoken"]
    assert (token["httponly"], settings.SESSION_COOKIE_HTTPONLY) == (True, True)
    sent = {"csrfmiddlewaretoken": token.value}
    name = host.partition(":")[0]

    assert (
        client.post("/account/look/", sent, headers={"Origin": f"http://{host}"}).status_code != 403
    )
    foreign = {"Origin": f"http://{name}:8020"}
    assert client.post("/account/look/", sent, headers=foreign).status_code == 403
