"""The origins of the replay: WACZ files by a grant and range; and who gets there."""

from __future__ import annotations

from urllib.parse import quote
from wsgiref.util import setup_testing_defaults

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from crawling.archive.packages.reading import read_package
from crawling.models import CrawlJob, Page, Run
from crawling.uses.exports.replay.answers import answer_nothing, requested_range, with_player
from crawling.uses.exports.wacz import access
from crawling.uses.exports.wacz.access import ticket_for
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser, soup
from tests.crawling.uses.exports.wacz.test_wacz_file import made

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


#: of replay.localhost, which has the page with the frame, and of the run
SITE, OF_RUN = "replay.localhost:8020", "run-{}.replay.localhost:8020"


def ask(run, path, host=OF_RUN, **headers):
    """Status, headers and content of an answer on a run's origin."""
    said = []
    path, _, query = path.partition("?")
    environ = {"PATH_INFO": path, "QUERY_STRING": query, **headers}
    environ["HTTP_HOST"] = host.format(run.pk)
    setup_testing_defaults(environ)
    answer = with_player(answer_nothing)
    content = b"".join(answer(environ, lambda *facts: said.extend(facts)))
    return int(said[0].split()[0]), dict(said[1]), content


def exchanged(run, ticket):
    """The cookie that a ticket gives, as the browser sends it back."""
    status, headers, _ = ask(run, f"/open/{ticket}")
    assert status == 303
    return headers["Set-Cookie"].partition(";")[0]


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
    assert requested_range(text, 100) == found


def test_a_grant_opens_one_file_in_parts_to_one_who_may(run, monkeypatch):
    row = made(run)
    content = b"".join(read_package(row, 0, row.bytes))
    user = User.objects.get(pk=browser("operator").session["_auth_user_id"])
    granted = {"HTTP_COOKIE": exchanged(run, ticket_for(user, row))}
    place = f"/archive/{run.pk}/run.wacz"

    status, headers, found = ask(run, place, **granted)
    assert (status, found) == (200, content)
    assert "Set-Cookie" not in headers
    assert "connect-src 'self'" in headers["Content-Security-Policy"]
    status, headers, found = ask(run, place, **granted, HTTP_RANGE="bytes=-100")
    assert (status, found) == (206, content[-100:])
    assert headers["Content-Range"] == f"bytes {row.bytes - 100}-{row.bytes - 1}/{row.bytes}"
    status, headers, found = ask(
        run, place, **granted, REQUEST_METHOD="HEAD", HTTP_RANGE="bytes=0-"
    )
    assert (status, headers["Content-Length"], found) == (206, str(row.bytes), b"")
    assert ask(run, place, **granted, HTTP_RANGE=f"bytes={row.bytes}-")[0] == 416
    assert ask(run, place, **granted, REQUEST_METHOD="POST")[0] == 405
    assert ask(run, "/crawls/", **granted)[0] == 404
    for cookie in ("", "replay=", "replay=x", granted["HTTP_COOKIE"][:-1], 'replay;;="', "a=b"):
        assert ask(run, place, HTTP_COOKIE=cookie)[0] == 404

    with monkeypatch.context() as later:
        later.setattr(access, "GRANT_LASTS", access.GRANT_LASTS * 0)
        assert ask(run, place, **granted)[0] == 404
    user.groups.clear()
    assert ask(run, place, **granted)[0] == 404


def test_a_ticket_is_exchanged_once_for_a_cookie_of_one_run(run, monkeypatch):
    row = made(run)
    user = User.objects.get(pk=browser("operator").session["_auth_user_id"])
    ticket = ticket_for(user, row)
    other = Run(pk=run.pk + 1)
    place = f"/archive/{run.pk}/run.wacz"

    assert ask(run, f"/archive/{ticket}/run.wacz")[0] == 404
    assert ask(run, place, HTTP_COOKIE=f"replay={ticket}")[0] == 404
    assert ask(run, f"/open/{ticket}", REQUEST_METHOD="HEAD")[0] == 405
    status, headers, _ = ask(run, f"/open/{ticket}?url=http%3A%2F%2Fa.example%2F&ts=2026")
    assert status == 303
    assert headers["Location"] == (
        f"http://{SITE}/run/{run.pk}/crawl-{run.crawl_id}-run-{run.number}.wacz"
        "?url=http%3A%2F%2Fa.example%2F&ts=2026"
    )
    cookie, *rules = headers["Set-Cookie"].split("; ")
    assert rules == [f"Path=/archive/{run.pk}/", "Max-Age=3600", "HttpOnly", "SameSite=Strict"]
    assert cookie.partition("=")[2] not in headers["Location"]
    assert ticket not in headers["Location"]
    assert ask(run, f"/open/{ticket}")[0] == 404
    assert ask(other, f"/archive/{other.pk}/run.wacz", HTTP_COOKIE=cookie)[0] == 404
    assert ask(other, f"/open/{ticket_for(user, row)}")[0] == 404
    with monkeypatch.context() as later:
        later.setattr(access, "TICKET_LASTS", access.TICKET_LASTS * 0)
        assert ask(run, f"/open/{ticket_for(user, row)}")[0] == 404


def test_a_page_of_ours_has_the_player_in_a_frame_that_cannot_leave(run, settings):
    address = f"/run/{run.pk}/crawl-1-run-1.wacz?url=http%3A%2F%2Fa.example%2F%22%3E&ts=2026"
    status, headers, page = ask(run, address, host=SITE)

    frame = tree_of(page).find("iframe")
    origin = f"http://{OF_RUN.format(run.pk)}"
    assert status == 200
    assert frame["src"].startswith(f"{origin}/?source={quote(origin, safe='')}%2Farchive%2F")
    assert frame["src"].endswith("#view=pages&url=http%3A%2F%2Fa.example%2F%22%3E&ts=2026")
    assert list(frame["sandbox"]) == ["allow-scripts", "allow-same-origin", "allow-forms"]
    policy = headers["Content-Security-Policy"]
    assert f"frame-src {origin};" in policy
    assert "default-src 'none'" in policy
    assert "script" not in policy
    for nothing in ("/", "/sw.js", "/run/x/a.wacz", "/run/1/../a.wacz", f"/archive/{run.pk}/a"):
        assert ask(run, nothing, host=SITE)[0] == 404
    assert ask(run, "/", host="127.0.0.1:8020")[0] == 421
    assert ask(run, "/", host="run-1.evil.example")[0] == 421
    settings.REPLAY_URL = "https://replay.example.net"
    assert f"https://run-{run.pk}.replay.example.net/?source=" in (
        ask(run, address, host="replay.example.net:443")[2].decode()
    )


@pytest.mark.parametrize(
    ("agent", "is_warned"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/152.0.0.0 Safari/537.36",
            False,
        ),
        ("Mozilla/5.0 AppleWebKit/537.36 HeadlessChrome/156.0.0.0 Safari/537.36", False),
        ("Mozilla/5.0 AppleWebKit/537.36 Chrome/1000.0.0.0 Safari/537.36 Edg/1000.0.0.0", False),
        ("Mozilla/5.0 AppleWebKit/537.36 Chrome/151.0.0.0 Safari/537.36", True),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0", True),
        ("Mozilla/5.0 AppleWebKit/605.1.15 Version/26.0 Safari/605.1.15", True),
        ("", True),
    ],
)
def test_the_page_says_where_a_browser_does_not_refuse_webrtc(run, agent, is_warned):
    address = f"/run/{run.pk}/crawl-1-run-1.wacz"

    _, _, page = ask(run, address, host=SITE, HTTP_USER_AGENT=agent)

    assert (b"WebRTC" in page) == is_warned


def test_the_player_opens_in_the_frame_alone_and_under_our_service_worker(run):
    assert ask(run, "/", HTTP_SEC_FETCH_DEST="document")[0] == 403
    assert ask(run, "/w/x/", HTTP_SEC_FETCH_DEST="document")[0] == 403
    status, headers, script = ask(run, "/sw.js", HTTP_SERVICE_WORKER="script")
    assert (status, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert headers["Content-Security-Policy"] in script.decode()
    assert headers["Connection-Allowlist"] == "(response-origin); webrtc=block; redirects=allow"
    assert '/*"); webrtc=block; redirects=allow' in script.decode()
    assert "$" not in script.decode().replace("js$/", "")
    assert 'importScripts("/released-sw.js")' in script.decode()
    assert ask(run, "/released-sw.js", HTTP_SERVICE_WORKER="script")[0] == 403


def test_a_withdrawal_closes_what_was_open(run):
    row = made(run)
    operator = User.objects.get(pk=browser("operator").session["_auth_user_id"])
    granted = {"HTTP_COOKIE": exchanged(run, ticket_for(operator, row))}
    place = f"/archive/{run.pk}/run.wacz"
    assert ask(run, place, **granted)[0] == 200

    withdraw_pages(run.crawl, None, kind="pattern", text="/a$", reason="x", by=None)

    assert ask(run, place, **granted)[0] == 404


def test_an_open_replay_closes_for_a_user_who_may_not_act_on_the_crawl_any_more(run):
    operator = User.objects.get(pk=browser("operator").session["_auth_user_id"])
    granted = {"HTTP_COOKIE": exchanged(run, ticket_for(operator, made(run)))}
    place = f"/archive/{run.pk}/run.wacz"
    assert ask(run, place, **granted)[0] == 200

    CrawlJob.objects.filter(pk=run.crawl_id).update(created_by=User.objects.create_user("ada"))

    assert ask(run, place, **granted)[0] == 404


def test_a_page_leads_to_its_replay_on_the_origin_of_its_run(run, installed):
    page = Page.objects.get(url__url__endswith="/a")
    address = reverse("crawling:replay", args=[run.crawl_id]) + f"?page={page.pk}"
    operator = browser("operator")
    assert browser("viewer").get(address).status_code == 403
    said = soup(operator.get(address, follow=True, headers={"Host": "127.0.0.1"})).get_text()
    assert "make it first" in said

    row = made(run)
    place = operator.get(address, headers={"Host": "127.0.0.1"})["Location"]
    assert place.startswith(f"http://run-{run.pk}.replay.localhost:{installed.REPLAY_PORT}/open/")
    assert f"?url={page.url.url.replace(':', '%3A').replace('/', '%2F')}&ts=20" in place
    assert row.bytes
    installed.REPLAY_URL = "https://replay.example.net"
    place = operator.get(address, headers={"Host": "127.0.0.1"})["Location"]
    assert place.startswith(f"https://run-{run.pk}.replay.example.net/open/")


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
    assert "is not installed" in said("127.0.0.1")


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
