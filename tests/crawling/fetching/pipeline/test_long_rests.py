"""A host that has too much to do is left alone by all crawls, across shifts, and costs no other
host time meanwhile.
"""

from __future__ import annotations

import gzip
import time
from contextlib import closing
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from allocation.models import Process
from crawling.fetching.shift import host_leases, work, workbench
from crawling.frontier.host_state import store_robots, trim_robots, valid_robots
from crawling.frontier.own_robots import robots_of_run, store_robots_of_run
from crawling.models import Host, OwnRobotsFile, RobotsFile, Shift, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.wait_reason import next_host_queues
from crawling.web.addresses import read_address
from tests.crawling.contexts import make_client
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.frontiers import Frontier


def test_a_host_that_asks_for_time_gets_it_from_all_crawls_and_the_shift_gives_everything_back(
    make_site, order, work_off
):
    site = make_site(
        {"/": links("/busy", "/later"), "/busy": (429, {"Retry-After": "90"}, ""), "/later": "x"}
    )
    run = start_run(create_crawl(order(f"{site.url}/", delay_seconds=0.01, batch_size=2)))

    work_off(run, until=lambda run: Url.objects.filter(run=run, status=429).exists())

    assert site.paths == ["/", "/busy"]
    host = Host.objects.get()
    rest = (host.due_at - timezone.now()).total_seconds()
    assert (host.shift_id, host.backoffs) == (None, 1)
    assert "429" in host.rest_reason
    assert "asks for 90 s" in host.rest_reason
    assert 80 < rest <= 90 * 1.1
    assert sorted(Url.objects.filter(run=run).values_list("state", "attempts")) == [
        ("q", 0),
        ("q", 1),
        ("s", 1),
    ]
    assert not Process.objects.filter(holding=True).exists()
    other = Frontier()
    other.sow(f"{site.address}:{site.port}/x")
    assert other.lease(soon=60) == []
    assert [one.rest_reason for one in next_host_queues([other.run.pk])] == [host.rest_reason]

    Host.objects.update(due_at=timezone.now())
    site.pages["/busy"] = "better"
    Url.objects.update(due_at=None)
    work_off(run)
    host.refresh_from_db()
    assert (run.state, host.backoffs, host.rest_reason) == ("finished", 0, "")


def test_a_slow_answer_makes_the_rest_longer(make_site, order, work_off):
    site = make_site(
        {
            "/": lambda request: (
                time.sleep(0.2),
                (200, {"Content-Type": "text/html"}, links("/a")),
            )[1],
            "/a": "x",
        }
    )

    work_off(start_run(create_crawl(order(f"{site.url}/", delay_seconds=0.05))))

    assert site.log[-1].at - site.log[-2].at >= 0.4  # as long as it took, and as long again


def test_names_with_and_without_the_roots_dot_share_a_clock(db):
    frontier, other = Frontier(), Frontier()
    frontier.sow("a.test/")
    other.sow("a.test./")

    assert len(frontier.lease()) == 1
    assert other.lease() == []


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_bandwidth_is_counted_as_it_comes_and_not_as_it_is_decoded(make_site, encoding):
    text = b"so much of the same " * 50_000
    body = gzip.compress(text) if encoding == "gzip" else text
    site = make_site(
        {"/": (200, {"Content-Type": "text/plain", "Content-Encoding": encoding}, body)}
    )
    counted = []
    client = make_client()
    client.bandwidth.take = lambda count: counted.append(count) or 0.0

    with closing(client.get(read_address(f"{site.url}/"), site.address)) as fetched:
        assert fetched.body.read() == text
    assert len(body) < sum(counted) < len(body) + 1000


def test_the_cache_of_robots_txt_has_a_fixed_size_and_forgets_the_oldest(db):
    for number in range(5):
        store_robots(f"http://{number}.test", 200, b"x" * 100)
        RobotsFile.objects.filter(origin=f"http://{number}.test").update(
            fetched_at=timezone.now() - timedelta(hours=number)
        )

    assert trim_robots(most_files=4) == 1
    assert trim_robots(most_files=4, most_bytes=250) == 2
    assert set(RobotsFile.objects.values_list("origin", flat=True)) == {
        "http://0.test",
        "http://1.test",
    }
    assert trim_robots() == 0


@pytest.mark.parametrize(
    ("seconds", "known"),
    [
        (55, {200, 404, 503, -5}),
        (61, {200, 404}),
        (24 * 3600 - 5, {200, 404}),
        (24 * 3600 + 1, set()),
    ],
)
def test_a_robots_txt_holds_for_a_day_and_that_there_was_none_to_be_had_for_a_minute(
    db, seconds, known
):
    origins = {f"http://{status}.test": status for status in (200, 404, 503, -5)}
    for origin, status in origins.items():
        store_robots(origin, status, b"")

    RobotsFile.objects.update(expires_at=F("expires_at") - timedelta(seconds=seconds))

    assert {origins[origin] for origin in valid_robots(origins)} == known


@pytest.fixture
def short_shifts(monkeypatch):
    """A host that rests for a moment ends its visit, and with it the shift."""
    for module in (workbench, host_leases):
        monkeypatch.setattr(module, "LONG_REST_SECONDS", 0.1)
    for module in (work, host_leases):
        monkeypatch.setattr(module, "SOON_SECONDS", 0.1)


@pytest.mark.parametrize(
    "own",
    [{"headers": {"X-Key": "1"}}, {"cookies": True}, {"credentials": "me:pw"}, {}],
    ids=["headers", "cookies", "credentials", "none"],
)
def test_what_a_crawl_learns_in_its_own_way_outlives_its_shifts(
    make_site, order, work_off, short_shifts, own
):
    site = make_site({"/robots.txt": "User-agent: *\nDisallow: /x", "/": links("/a", "/x")})
    if "credentials" in own:
        own = {"credentials": {read_address(site.url).host_key: own["credentials"]}}
    site.pages["/a"] = "a"
    run = start_run(create_crawl(order(f"{site.url}/", delay_seconds=1, max_seconds=60, **own)))

    work_off(run)

    assert [request.path for request in site.log] == ["/robots.txt", "/", "/a"]
    assert Shift.objects.filter(process__run=run).count() >= 2


FORM = "<form method=post action=in><input name=user><input name=pass type=password></form>"


@pytest.fixture
def closed_site(make_site):
    """A site of pages for those who are logged in: who has `closed_site.key` as a cookie. Behind a
    page in `keys_behind` it is another.
    """

    def page(request):
        if f"in={site.key}" in request.headers.get("Cookie", ""):
            html = links("/a", "/b") if request.path == "/" else "x"
            site.key = site.keys_behind.pop(request.path, site.key)
            return 200, {"Content-Type": "text/html"}, html
        return 302, {"Location": "/login"}, ""

    def enter(request):
        return 303, {"Location": "/", "Set-Cookie": f"in={site.key}; Path=/"}, ""

    site = make_site({"/login": FORM, "/in": enter, **dict.fromkeys(("/", "/a", "/b"), page)})
    site.key, site.keys_behind = "first", {}
    return site


def logging_in(site):
    login = {"login_url": f"{site.url}/login", "login_fields": {"user": "me", "pass": "pw"}}
    return {"delay_seconds": 0.3, "max_seconds": 60, **login}


def test_a_log_in_outlives_its_shift(closed_site, order, work_off, short_shifts):
    run = start_run(create_crawl(order(f"{closed_site.url}/", **logging_in(closed_site))))

    work_off(run)

    assert closed_site.paths == ["/login", "/in", "/", "/", "/a", "/b"]
    assert Shift.objects.filter(process__run=run).count() >= 3


def test_where_the_site_has_forgotten_a_log_in_the_crawl_logs_in_again(
    closed_site, order, work_off, short_shifts
):
    run = start_run(create_crawl(order(f"{closed_site.url}/", **logging_in(closed_site))))
    closed_site.keys_behind["/a"] = "second"

    work_off(run)

    assert closed_site.paths[5:] == ["/b", "/login", "/in", "/", "/b"]
    assert set(Url.objects.filter(run=run).values_list("status", flat=True)) == {200}


@pytest.mark.parametrize("scheme", ['Basic realm="x"', 'Digest realm="x", qop="auth", nonce="{n}"'])
@pytest.mark.parametrize("is_right", [True, False])
def test_a_challenge_is_answered_by_the_next_shift_and_a_refusal_ends(
    make_site, order, work_off, short_shifts, scheme, is_right
):
    def page(request):
        if is_right and request.headers.get("Authorization"):
            html = links("/a", "/b") if request.path == "/" else "x"
            return 200, {"Content-Type": "text/html"}, html
        return 401, {"WWW-Authenticate": scheme.format(n=len(site.log))}, ""

    site = make_site(dict.fromkeys(("/", "/a", "/b"), page))
    secret = {"credentials": {read_address(site.url).host_key: "me:pw"}}
    run = start_run(create_crawl(order(f"{site.url}/", delay_seconds=0.3, **secret)))

    work_off(run)

    assert site.paths == (["/", "/", "/a", "/b"] if is_right else ["/", "/"])
    assert Shift.objects.filter(process__run=run).count() >= 2


def test_own_robots_files_end_with_the_order_that_they_were_had_for(db):
    run, other = Frontier().run, Frontier().run
    store_robots_of_run(run.pk, 1, [("http://a.test", 200, b"x"), ("http://b.test", 404, b"")])
    store_robots_of_run(run.pk, 1, [("http://a.test", 503, b""), ("http://c.test", 503, b"")])

    def had(run, revision):
        return robots_of_run(run.pk, revision, ["http://a.test", "http://b.test", "http://c.test"])

    assert had(run, 1) == ({"http://a.test": (200, b"x"), "http://b.test": (404, b"")}, {})
    assert had(run, 2) == had(other, 1) == ({}, {})

    OwnRobotsFile.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert had(run, 1).old == {"http://a.test": (200, b"x"), "http://b.test": (404, b"")}
    store_robots_of_run(run.pk, 1, [("http://a.test", 503, b"")])
    assert had(run, 1).fresh == {"http://a.test": (200, b"x")}
    OwnRobotsFile.objects.update(fetched_at=timezone.now() - timedelta(days=31))
    assert had(run, 1) == ({}, {})

    assert trim_robots(most_files=1) == 1
