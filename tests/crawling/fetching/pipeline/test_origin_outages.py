"""An origin whose robots.txt cannot be fetched, while another of its host answers, costs its own
URLs time and nothing else.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from crawling.dashboard.inspect.url_decision import decisions_about
from crawling.dashboard.run.diagnosis import stall_of
from crawling.dashboard.run.hosts import host_rows, hosts_of
from crawling.frontier.change.manual_order import UrlAction
from crawling.frontier.host_state import store_robots
from crawling.models import Host, HostQueue, LogLine, RobotsFile, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.wait_reason import wait_reasons
from crawling.runs.waiting_urls import change_urls, retry_failed
from crawling.web import politeness
from crawling.web.outages import read_outages
from crawling.web.statuses import FetchStatus
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.fetching.pipeline.test_outages import outage, reply, states

NAME = "half.web.test"


def origins(run):
    """The outages of the run's only host's origins."""
    return read_outages(HostQueue.objects.get(run=run).origin_outages)


def has_tried(tries):
    """Whether the only origin that does not answer was asked so often."""
    return lambda run: [one.tries for one in origins(run).values()] == [tries]


def pass_time(run, **time):
    """Let so much time have passed since the origins were asked last."""
    queue, back = HostQueue.objects.get(run=run), timedelta(**time)
    kept = {
        origin: found
        | {
            name: (datetime.fromisoformat(found[name]) - back).isoformat()
            for name in ("since", "retry_at", "gives_up_at")
        }
        for origin, found in queue.origin_outages.items()
    }
    HostQueue.objects.filter(pk=queue.pk).update(origin_outages=kept, due_at=timezone.now())
    Url.objects.filter(run=run).update(due_at=None)
    Host.objects.update(due_at=timezone.now())
    RobotsFile.objects.update(fetched_at=F("fetched_at") - back, expires_at=F("expires_at") - back)


@pytest.fixture
def half(make_site, dns_server, identified, monkeypatch):
    """A site whose name has an origin with the root's dot, too, where robots.txt is answered as
    `half.robots` says, and a page, with 503 so often as `half.busy` says.
    """
    monkeypatch.setitem(politeness.BACKOFFS, 503, (0.05, 0.05))
    monkeypatch.setattr(politeness, "FIRST_RETRY_SECONDS", 0.05)

    def robots(request):
        return half.robots if request.host.startswith(f"{NAME}.:") else reply(404)

    def late(request):
        half.busy -= 1
        return reply(503) if half.busy >= 0 else (200, {}, "late")

    half = make_site({"/robots.txt": robots, "/": "x", "/late": late})
    half.robots, half.busy = reply(500), 0
    dns_server.hosts[NAME] = [half.address]
    half.seeds = [f"http://{NAME}:{half.port}/", f"http://{NAME}.:{half.port}/late"]
    return half


def asked(half):
    """The requests to the origin with the root's dot."""
    return [request.path for request in half.log if request.host.startswith(f"{NAME}.:")]


def test_waits_for_robots_txt_leave_a_url_all_its_tries(half, order, work_off):
    run = start_run(create_crawl(order(*half.seeds, delay_seconds=0)))
    for tries in range(1, 6):
        work_off(run, until=has_tried(tries))
        assert states(run) == [("q", 0), ("s", 1)]
        pass_time(run, minutes=2**tries)
    half.robots, half.busy = reply(404), politeness.MAX_ATTEMPTS - 1

    work_off(run)

    assert (run.state, states(run)) == ("finished", [("s", 1), ("s", politeness.MAX_ATTEMPTS)])
    assert asked(half) == ["/robots.txt"] * 6 + ["/late"] * politeness.MAX_ATTEMPTS
    assert origins(run) == {}


def test_what_an_origin_is_waited_for_is_told(half, order, work_off):
    run = work_off(start_run(create_crawl(order(*half.seeds))), until=has_tried(1))
    url = Url.objects.get(run=run, state="q")
    (decision,) = decisions_about(url.url, crawl=run.crawl)[1]
    decided = [fact.sentence for fact in decision.facts if fact.about == "frontier"]

    for sentence in (
        wait_reasons([run])[run.pk].reason,
        stall_of(run, None).sentence,
        host_rows(run, list(hosts_of(run)))[0].outage,
        LogLine.objects.get(run=run, message__contains="next attempt").message,
        url.error,
        *decided,
    ):
        assert f"http://{NAME}.:{half.port}: " in sentence
        assert "500 Internal Server Error" in sentence
        assert "next attempt at" in sentence
        assert "given up at" in sentence


def test_links_to_an_origin_that_is_waited_for_cause_no_request(half, order, work_off):
    crawl = create_crawl(order(*half.seeds, delay_seconds=0))
    run = work_off(start_run(crawl), until=has_tried(1))
    RobotsFile.objects.all().delete()
    Url.objects.filter(run=run).update(due_at=None)  # as a link that is found now
    HostQueue.objects.update(due_at=timezone.now())

    work_off(run, until=lambda run: Url.objects.filter(run=run, due_at__isnull=False).exists())

    assert states(run) == [("q", 0), ("s", 1)]
    assert asked(half) == ["/robots.txt"]
    assert has_tried(1)(run)


@pytest.mark.parametrize("others", [0, 1])
def test_a_host_is_tried_at_once_when_what_it_waits_for_is_taken_out(
    make_site, order, work_off, others
):
    """With one URL at a time the host waits, since its other origin was not asked yet."""
    site = make_site({"/": "x"})
    secure = [f"{site.url.replace('http:', 'https:')}/{n}" for n in range(1 + others)]
    run = start_run(create_crawl(order(*secure, f"{site.url}/", batch_size=1)))
    work_off(run, until=lambda run: outage(run) is not None)

    first = Url.objects.get(run=run, url=secure[0])
    assert change_urls(run, UrlAction.TAKE_OUT, [first.pk]) == 1

    if others:
        assert outage(run) is not None
        return
    assert (outage(run), HostQueue.objects.get().due_at <= timezone.now()) == (None, True)
    assert (work_off(run).state, states(run)) == ("finished", [("s", 1), ("x", 0)])


@pytest.mark.parametrize("patience", [0, 24 * 3600])
def test_an_origin_that_never_answered_is_given_up_as_the_order_says_or_after_an_hour(
    half, order, work_off, patience
):
    run = start_run(create_crawl(order(*half.seeds, host_patience_seconds=patience)))
    if patience:
        work_off(run, until=has_tried(1))
        pass_time(run, minutes=61)

    work_off(run)

    assert (run.state, states(run)) == ("finished", [("f", 1), ("s", 1)])
    failed = Url.objects.get(run=run, state="f")
    assert failed.status == FetchStatus.ROBOTS_UNAVAILABLE
    assert ("2 tries" if patience else "1 try") in failed.error

    half.robots = reply(404)
    RobotsFile.objects.all().delete()
    retry_failed(run.crawl)
    assert origins(run) == {}


def test_links_to_an_origin_that_does_not_answer_wait_alone_without_others_beside_them(
    make_site, order, work_off
):
    site = make_site({"/": "x"})
    store_robots(site.url, 404, b"")
    secure = site.url.replace("http:", "https:")

    run = work_off(start_run(create_crawl(order(f"{secure}/", f"{secure}/a"))), until=has_tried(1))

    assert (outage(run), list(origins(run)), states(run)) == (None, [secure], [("q", 0)] * 2)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_site_that_answers_at_http_only_loses_nothing_to_its_https_links(
    make_site, order, work_off, is_first
):
    site = make_site({"/": links("/a", "/b"), "/a": "a", "/b": "b"})
    secure = [f"{site.url.replace('http:', 'https:')}/{n}" for n in range(3)]
    site.pages["/"] += links(*secure)
    seeds = [*secure, f"{site.url}/"] if is_first else [f"{site.url}/"]
    run = start_run(create_crawl(order(*seeds)))

    def is_waited_for(run):
        others = Url.objects.filter(run=run, url__startswith="https:")
        return others.filter(due_at__gt=timezone.now()).count() == len(secure)

    work_off(run, until=is_waited_for)

    assert states(run) == [("q", 0)] * 3 + [("s", 1)] * 3
    assert outage(run) is None
    one = Url.objects.filter(run=run, state="q").first()
    assert (one.status, "could not be had" in one.error) == (FetchStatus.ROBOTS_UNAVAILABLE, True)
