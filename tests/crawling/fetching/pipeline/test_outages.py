"""A host that lets nothing be fetched costs a crawl time, and no URL a try, until it is given
up."""

from __future__ import annotations

import contextlib
import socket
import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from crawling.dashboard.run.diagnosis import stall_of
from crawling.dashboard.run.hosts import host_rows, hosts_of
from crawling.frontier import Candidate, free_hosts_of_shift, locked_run, schedule_urls
from crawling.frontier.address_clock import borrow_hosts, return_host
from crawling.frontier.host_state import store_robots
from crawling.frontier.released_hosts import AskedHost, count_requests
from crawling.frontier.rules.hosts import NOTHING_SPENT
from crawling.models import Host, HostQueue, LogLine, RobotsFile, Run, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.wait_reason import wait_reasons
from crawling.runs.waiting_urls import retry_failed
from crawling.scheduler.duties import settle_interrupted_runs
from crawling.web import politeness
from crawling.web.addresses import read_address
from crawling.web.outages import (
    LONGEST_PAUSE_SECONDS,
    NEVER_HEARD_SECONDS,
    host_patience_seconds,
    outage_after,
    pause_seconds_after,
    read_outage,
)
from crawling.web.politeness import DOUBTFUL_ROW
from crawling.web.statuses import FetchStatus
from dnscache import resolver
from dnscache.models import DnsEntry
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.frontiers import Frontier

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
#: for ten days
BUSY = (429, {"Retry-After": "900000"}, "")
FOUR = links("/a", "/b", "/c")


@pytest.fixture
def try_it(order, work_off):
    """Return a function that works a run off until its host was found to let nothing be fetched."""

    def try_it(run, tries=1):
        return work_off(run, until=lambda run: (found := outage(run)) and found.tries >= tries)

    return try_it


def outage(run):
    """The outage of the run's only host, as its row has it."""
    return read_outage(HostQueue.objects.get(run=run).outage)


def pass_time(run, **time):
    """Let so much time have passed since the last try; robots.txt files that could not be fetched
    are forgotten.
    """
    queue, back = HostQueue.objects.get(run=run), timedelta(**time)
    found = read_outage(queue.outage).as_json()
    found["since"] = (datetime.fromisoformat(found["since"]) - back).isoformat()
    HostQueue.objects.filter(pk=queue.pk).update(outage=found, due_at=timezone.now(), retry_at=None)
    Host.objects.update(due_at=timezone.now())
    RobotsFile.objects.update(fetched_at=F("fetched_at") - back, expires_at=F("expires_at") - back)


def states(run):
    return sorted(Url.objects.filter(run=run).values_list("state", "attempts"))


def reply(status, **headers):
    return status, headers, ""


@pytest.mark.parametrize("status", [500, 503, 429, 408, 304])
def test_without_robots_txt_one_request_is_made_a_try_and_no_url_loses_one(
    make_site, order, try_it, status
):
    site = make_site({"/robots.txt": reply(status), "/": "x"})
    run = start_run(create_crawl(order(*(f"{site.url}/{n}" for n in range(40)))))

    for tries in (1, 2, 3):
        try_it(run, tries)
        pass_time(run, minutes=10)

    assert len(site.log) == 3
    assert set(states(run)) == {("q", 0)}
    assert outage(run).status == FetchStatus.ROBOTS_UNAVAILABLE
    assert status == 304 or str(status) in outage(run).error


def test_the_crawl_goes_on_as_soon_as_robots_txt_is_there_again(make_site, order, try_it, work_off):
    site = make_site({"/robots.txt": reply(500), "/": FOUR, "/a": "a", "/b": "b", "/c": "c"})
    run = try_it(start_run(create_crawl(order(f"{site.url}/"))))
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /c"
    pass_time(run, minutes=2)

    work_off(run)

    assert (run.state, states(run)) == ("finished", [("s", 1)] * 3 + [("x", 1)])
    assert outage(run) is None


@pytest.mark.parametrize("minutes", [55, 65])
def test_a_host_that_never_answered_is_given_up_after_an_hour_with_a_sentence(
    make_site, order, try_it, work_off, minutes
):
    site = make_site({"/robots.txt": reply(500)})
    run = try_it(start_run(create_crawl(order(f"{site.url}/", f"{site.url}/x"))))
    pass_time(run, minutes=minutes)

    if minutes < 60:
        try_it(run, tries=2)
        assert states(run) == [("q", 0)] * 2
        return

    work_off(run)
    assert (run.state, len(site.log)) == ("failed", 2)
    assert set(Url.objects.filter(run=run).values_list("state", "status")) == {
        ("f", FetchStatus.ROBOTS_UNAVAILABLE)
    }
    error = Url.objects.filter(run=run).first().error
    assert "500 Internal Server Error" in error
    assert "2 tries" in error
    assert LogLine.objects.filter(run=run, message__contains="is given up. ").count() == 1


def test_a_host_that_has_answered_is_waited_for_as_long_as_the_order_says(
    make_site, order, try_it, work_off
):
    site = make_site({"/": FOUR, "/a": "a", "/b": "b", "/c": "c"})
    work_off(start_run(create_crawl(order(f"{site.url}/"))))
    RobotsFile.objects.all().delete()
    site.pages["/robots.txt"] = reply(500)
    run = try_it(
        start_run(create_crawl(order(f"{site.url}/", name="later", host_patience_seconds=50_000)))
    )

    pass_time(run, hours=13)
    try_it(run, tries=2)
    assert states(run) == [("q", 0)]
    pass_time(run, hours=1)
    work_off(run)

    assert states(run) == [("f", 1)]


def test_rules_that_were_had_hold_on_while_newer_ones_cannot_be_had(make_site, order, work_off):
    site = make_site({"/robots.txt": reply(500), "/": FOUR, "/a": "a", "/b": "b", "/c": "c"})
    store_robots(site.url, 200, b"User-agent: *\nDisallow: /c")
    RobotsFile.objects.update(
        fetched_at=timezone.now() - timedelta(days=2), expires_at=timezone.now() - timedelta(days=1)
    )

    run = work_off(start_run(create_crawl(order(f"{site.url}/"))))

    assert states(run) == [("s", 1)] * 3 + [("x", 1)]
    assert [request.path for request in site.log].count("/robots.txt") == 1
    assert RobotsFile.objects.get().status == 200


@pytest.fixture
def silent(make_site, monkeypatch):
    """A site that answers `silent.answers` alone until `silent.answers` is None."""
    monkeypatch.setitem(politeness.BACKOFFS, int(FetchStatus.TIMED_OUT), (0.1, 0.1))
    monkeypatch.setattr(politeness, "FIRST_REST_SECONDS", 0.1)
    monkeypatch.setattr(politeness, "FIRST_DOUBT_SECONDS", 20.0)
    monkeypatch.setattr(politeness, "FIRST_RETRY_SECONDS", 0.1)
    over = threading.Event()

    def page(request):
        is_again = site.once and len(site.log) > 2
        if site.answers is not None and (request.path not in site.answers or is_again):
            over.wait(30)
        body = "" if request.path == "/robots.txt" else FOUR if request.path == "/" else "x"
        return 200, {"Content-Type": "text/html"}, body

    site = make_site(dict.fromkeys(("/robots.txt", "/", "/a", "/b", "/c"), page))
    site.answers, site.once = {"/robots.txt", "/"}, False
    yield site
    over.set()


def test_pages_that_time_out_on_a_host_that_answers_nothing_cost_time_and_no_url(
    silent, order, try_it, work_off
):
    store_robots(silent.url, 200, b"")
    silent.once = True
    run = try_it(start_run(create_crawl(order(f"{silent.url}/", first_byte_seconds=1))), tries=2)

    assert outage(run).status == FetchStatus.HOST_BUSY
    assert [request.path for request in silent.log][-1] == "/"
    assert sum(attempts for _, attempts in states(run)) <= 1 + DOUBTFUL_ROW

    silent.answers = None
    pass_time(run, minutes=4)
    work_off(run)
    assert (run.state, {state for state, _ in states(run)}) == ("finished", {"s"})


def test_pages_that_time_out_on_a_host_that_answers_spend_their_tries(silent, order, work_off):
    silent.pages["/"] = links("/a", "/b")
    run = work_off(start_run(create_crawl(order(f"{silent.url}/", first_byte_seconds=1))))

    assert states(run) == [("f", 3)] * 2 + [("s", 1)]
    assert not outage(run).is_doubtful


def test_rules_of_long_ago_hold_no_longer(make_site, order, try_it):
    site = make_site({"/robots.txt": reply(500)})
    store_robots(site.url, 200, b"")
    RobotsFile.objects.update(
        fetched_at=timezone.now() - timedelta(days=31),
        expires_at=timezone.now() - timedelta(days=30),
    )

    run = try_it(start_run(create_crawl(order(f"{site.url}/"))))

    assert site.paths == []
    assert states(run) == [("q", 0)]


def test_a_robots_txt_that_leads_to_nobody_costs_no_url(make_site, order, try_it):
    site = make_site(
        {"/robots.txt": (302, {"Location": "http://no-such-name.invalid/robots.txt"}, "")}
    )

    run = try_it(start_run(create_crawl(order(f"{site.url}/"))))

    assert states(run) == [("q", 0)]
    assert "name" in outage(run).error


def test_a_name_that_nobody_answers_for_a_while_loses_nothing(
    make_site, order, try_it, work_off, dns_server, identified
):
    name = "quiet.web.test"
    site = make_site({f"/{n}": "x" for n in range(5)})
    dns_server.failing.add(name)
    seeds = [f"http://{name}:{site.port}/{n}" for n in range(5)]
    run = try_it(start_run(create_crawl(order(*seeds))))

    assert set(states(run)) == {("q", 0)}
    assert outage(run).status == FetchStatus.NAME_UNANSWERED
    assert site.paths == []

    dns_server.failing.clear()
    dns_server.hosts[name] = [site.address]
    DnsEntry.objects.all().delete()
    resolver.forget()
    pass_time(run, minutes=2)
    work_off(run)

    assert (run.state, set(states(run))) == ("finished", {("s", 1)})
    assert outage(run) is None


def test_a_host_that_takes_no_connections_for_a_while_loses_nothing(
    make_site, order, try_it, work_off, free_port
):
    run = try_it(
        start_run(create_crawl(order(*(f"http://127.0.0.1:{free_port}/{n}" for n in range(5))))),
        tries=1,
    )
    pass_time(run, minutes=2)
    try_it(run, tries=2)
    assert set(states(run)) == {("q", 0)}
    site = make_site({f"/{n}": "x" for n in range(5)}, port=free_port)
    pass_time(run, minutes=4)

    work_off(run)

    assert set(states(run)) == {("s", 1)}
    assert len(site.paths) == 5


def test_a_page_that_found_no_connection_was_not_tried(make_site, order, try_it, free_port):
    """robots.txt is known, so the page itself is what meets the closed port."""
    store_robots(f"http://127.0.0.1:{free_port}", 404, b"")

    run = try_it(start_run(create_crawl(order(f"http://127.0.0.1:{free_port}/"))))

    assert states(run) == [("q", 0)]
    assert outage(run).status == FetchStatus.CONNECT_FAILED


def test_a_handshake_that_broke_off_costs_no_url(order, try_it):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up():
            with contextlib.suppress(OSError):  # the test is over
                while True:
                    listening.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        run = try_it(
            start_run(create_crawl(order(f"https://127.0.0.1:{listening.getsockname()[1]}/")))
        )
        listening.shutdown(socket.SHUT_RDWR)

    assert states(run) == [("q", 0)]


def test_links_found_meanwhile_do_not_wake_a_host_that_rests(make_site, order, try_it):
    site = make_site({"/robots.txt": reply(500)})
    run = try_it(start_run(create_crawl(order(f"{site.url}/"))))
    queue = HostQueue.objects.get(run=run)

    with locked_run(run.pk) as locked:
        schedule_urls(locked, [Candidate(read_address(f"{site.url}/new"), 1, None)], numbers=[0])

    queue.refresh_from_db()
    assert (queue.queued, queue.due_at >= queue.retry_at) == (2, True)
    assert queue.retry_at > timezone.now() + timedelta(seconds=50)


def test_a_rest_of_days_is_told_and_ends(make_site, order, try_it, work_off):
    pages = ("/busy", "/later", "/last")
    site = make_site({"/": links(*pages), **dict.fromkeys(pages, BUSY)})
    run = start_run(create_crawl(order(f"{site.url}/", delay_seconds=0.01, batch_size=2)))
    try_it(run)

    # pages that may be at fault themselves do not close their host for a day
    assert f"{site.url}/busy was answered: 429" in outage(run).sentence
    assert "asks for 900,000 s" in outage(run).sentence
    site.pages["/"] = BUSY
    for tries in (2, 3, 4):
        assert Host.objects.get().due_at < timezone.now() + timedelta(minutes=6)
        pass_time(run, minutes=6)
        try_it(run, tries=tries)

    assert site.paths.count("/") == 2
    rest = Host.objects.get().due_at - timezone.now()
    assert timedelta(hours=23) < rest < timedelta(hours=27)
    told = LogLine.objects.filter(run=run, message__contains="It was had before").first()
    assert "next attempt at" in told.message
    pass_time(run, hours=27)
    work_off(run)
    assert run.state == "finished"
    assert ("f", FetchStatus.HOST_BUSY) in set(
        Url.objects.filter(run=run).values_list("state", "status")
    )


def test_retried_by_hand_a_host_has_all_its_time_again(
    make_site, order, crawl_to_the_end, try_it, work_off
):
    site = make_site({"/robots.txt": reply(500), "/": "x"})
    run = crawl_to_the_end(f"{site.url}/", host_patience_seconds=0)
    assert states(run) == [("f", 1)]

    site.pages["/robots.txt"] = reply(404)
    RobotsFile.objects.all().delete()
    Host.objects.update(due_at=timezone.now())
    retry_failed(run.crawl)
    run.refresh_from_db()

    assert states(work_off(run)) == [("s", 1)]


def test_pauses_grow_from_a_minute_to_hours_and_never_beyond_the_end():
    assert [round(pause_seconds_after(tries, 0.0) / 60) for tries in (1, 2, 3, 4, 8, 60)] == [
        1,
        2,
        4,
        8,
        120,
        120,
    ]
    assert pause_seconds_after(60, 1.0) <= LONGEST_PAUSE_SECONDS * 1.1

    first = outage_after(None, -9, "x.", now=NOW, pause_seconds=60, patience_seconds=3600)
    last = outage_after(
        first, -9, "y.", now=NOW + timedelta(minutes=55), pause_seconds=7200, patience_seconds=3600
    )

    assert (last.since, last.tries, last.error) == (NOW, 2, "y.")
    assert last.retry_at == last.gives_up_at == NOW + timedelta(hours=1)
    assert read_outage(last.as_json()) == last
    assert "2026-05-01 12:00 UTC" in last.sentence
    assert (
        host_patience_seconds(86400, has_answered=True),
        host_patience_seconds(86400, has_answered=False),
    ) == (
        86400,
        NEVER_HEARD_SECONDS,
    )


def test_a_run_that_waits_ends_by_its_limit_of_time(make_site, order, try_it):
    site = make_site({"/robots.txt": reply(500)})
    run = try_it(start_run(create_crawl(order(f"{site.url}/", max_seconds=60))))
    Run.objects.update(started_at=timezone.now() - timedelta(seconds=61))

    settle_interrupted_runs()

    run.refresh_from_db()
    assert run.state == "failed"
    assert "60 seconds" in run.reason


def test_what_a_crawl_waits_for_is_told(make_site, order, try_it):
    site = make_site({"/robots.txt": reply(500)})
    run = try_it(start_run(create_crawl(order(f"{site.url}/"))))

    told = wait_reasons([run])[run.pk].reason
    stall = stall_of(run, None)
    row = host_rows(run, list(hosts_of(run)))[0]

    for sentence in (told, stall.sentence, row.outage):
        assert "500 Internal Server Error" in sentence
        assert "next attempt at" in sentence
        assert "given up" in sentence
    assert stall.cause == "host unavailable"


def test_what_a_crawl_learns_in_its_own_way_stays_with_it(make_site, order, work_off):
    site = make_site({"/robots.txt": "User-agent: *\nDisallow: /x", "/": links("/x")})

    run = work_off(start_run(create_crawl(order(f"{site.url}/", headers={"X-Key": "1"}))))
    assert states(run) == [("s", 1), ("x", 1)]
    assert not RobotsFile.objects.exists()

    work_off(start_run(create_crawl(order(f"{site.url}/", name="bare"))))
    assert RobotsFile.objects.get().status == 200


def test_a_shift_that_is_killed_has_written_down_what_rest_its_host_needs(db):
    frontier = Frontier()
    frontier.sow("a.test/1", "b.test/1")
    first, second = sorted(frontier.lease(), key=lambda host: host.name)
    count_requests(
        frontier.shift,
        [
            AskedHost(first.host_id, NOTHING_SPENT, 45.0, 0.0),
            AskedHost(second.host_id, NOTHING_SPENT, 0.0, 900.0),
        ],
    )

    free_hosts_of_shift(frontier.shift.pk)

    rests = {
        host.name: (host.due_at - timezone.now()).total_seconds() for host in Host.objects.all()
    }
    assert 40 < rests["a.test"] <= 45
    assert 890 < rests["b.test"] <= 900


def test_a_borrowed_host_rests_for_its_own_delay(db):
    frontier = Frontier()
    frontier.sow("a.test/1")
    Host.objects.update(delay_seconds=60.0)

    return_host(borrow_hosts(["a.test"], soon_seconds=0, seconds=30)["a.test"], 1.0)

    assert Host.objects.get().due_at > timezone.now() + timedelta(seconds=55)


def test_a_login_form_that_cannot_be_had_for_a_moment_pauses_nothing(make_site, order, try_it):
    site = make_site({"/login": reply(500), "/": "x"})
    login = {"login_url": f"{site.url}/login", "login_fields": {"user": "me"}}

    run = try_it(start_run(create_crawl(order(f"{site.url}/", **login))))

    assert (run.state, states(run)) == ("running", [("q", 0)])
    assert "Logging in" in outage(run).error


def test_a_site_that_answers_at_neither_of_http_and_https_is_waited_for(make_site, order, try_it):
    site = make_site({"/robots.txt": reply(500)})
    secure = site.url.replace("http:", "https:")
    run = try_it(start_run(create_crawl(order(f"{secure}/", f"{site.url}/", f"{secure}/a"))))

    assert set(states(run)) == {("q", 0)}
    assert outage(run).status == FetchStatus.ROBOTS_UNAVAILABLE
