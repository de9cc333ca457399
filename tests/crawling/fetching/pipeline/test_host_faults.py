"""A failed page costs its own tries; a host rests only when several of its pages fail in a row, and
none that was fetched before can be fetched either.
"""

from __future__ import annotations

import socket
import threading
from collections import Counter

import pytest
from django.utils import timezone

from crawling.fetching.shift import host_leases, work, workbench
from crawling.models import HostQueue, LogLine, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.web import politeness
from crawling.web.outages import read_outage
from crawling.web.statuses import FetchStatus
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.fetching.shift.test_tar_pit import TarPit, drips_for_ever

HTML = {"Content-Type": "text/html"}
#: no answer at all
SILENT = "silent"


@pytest.fixture
def hurried(monkeypatch):
    """Retries and rests come soon."""
    monkeypatch.setattr(politeness, "FIRST_RETRY_SECONDS", 0.2)
    monkeypatch.setattr(politeness, "FIRST_DOUBT_SECONDS", 0.5)
    for module in (workbench, host_leases):  # a doubtful host ends the shift
        monkeypatch.setattr(module, "LONG_REST_SECONDS", 0.4)
    for module in (work, host_leases):
        monkeypatch.setattr(module, "SOON_SECONDS", 0.2)


def pages_of(count):
    return [f"/{number}" for number in range(count)]


def failing(answer, over):
    """The answer of a page that fails so."""
    if answer == SILENT:
        over.wait(30)
    return answer


@pytest.fixture
def site_with(make_site):
    """Return a function that makes a site of a page with links, and what each of them answers."""

    def make(answers):
        return make_site({"/": links(*answers), **answers})

    return make


def is_doubtful(run, tries=1):
    """Whether so many tries have shown that the run's only host may refuse all pages."""
    found = read_outage(HostQueue.objects.get(run=run).outage)
    return bool(found and found.is_doubtful and found.tries >= tries)


def ended(run):
    return Counter(Url.objects.filter(run=run).values_list("state", "status"))


@pytest.mark.parametrize(
    "answer",
    [
        (503, {}, ""),
        (503, {"Retry-After": "1"}, ""),
        (503, {"Retry-After": "86400"}, ""),
        (429, {}, ""),
        (429, {"Retry-After": "1"}, ""),
        (500, {}, ""),
        (502, {}, ""),
    ],
)
def test_a_page_that_always_fails_costs_the_others_at_most_one_short_rest(
    site_with, order, work_off, hurried, monkeypatch, answer
):
    monkeypatch.setattr(politeness, "FIRST_REST_SECONDS", 0.3)
    monkeypatch.setattr(politeness, "LEAST_WISH_SECONDS", 0.3)
    monkeypatch.setattr(politeness, "LONGEST_RETRY_SECONDS", 1.0)
    site = site_with({**dict.fromkeys(pages_of(12), "x"), "/3": answer})

    run = work_off(start_run(create_crawl(order(f"{site.url}/", batch_size=2))))

    assert ended(run) == {("s", 200): 12, ("f", answer[0]): 1}
    assert [request.path for request in site.log].count("/3") == politeness.MAX_ATTEMPTS
    others = [request.at for request in site.log if request.path not in ("/3", "/robots.txt")]
    assert others[-1] - others[0] < 10


@pytest.mark.parametrize("status", [403, 500, 503])
def test_pages_that_fail_beside_others_that_can_be_had_spend_their_own_tries(
    site_with, order, work_off, hurried, monkeypatch, status
):
    monkeypatch.setattr(politeness, "FIRST_REST_SECONDS", 0.1)
    monkeypatch.setattr(politeness, "BACKOFFS", {503: (0.1, 0.1)})
    site = site_with({**dict.fromkeys(pages_of(9), (status, {}, "")), "/good": "x"})

    run = work_off(start_run(create_crawl(order(f"{site.url}/"))))

    assert ended(run) == {("f", status): 9, ("s", 200): 2}
    asked = Counter(request.path for request in site.log)
    # after 3 that fail in a row a known page is asked for, after 6 others once more
    assert asked["/"] <= 4
    assert sum(asked[path] for path in pages_of(9)) <= 9 * (1 if status == 403 else 3) + 3


@pytest.mark.parametrize("bad", [("/3", "/4"), ("/3", "/4", "/5", "/6", "/7"), ("/1", "/5", "/9")])
@pytest.mark.parametrize("asked", ["3600", None])
def test_pages_that_always_ask_for_an_hour_rest_for_it_themselves_and_their_host_does_not(
    site_with, order, work_off, hurried, monkeypatch, bad, asked
):
    monkeypatch.setattr(politeness, "FIRST_REST_SECONDS", 0.1)
    monkeypatch.setattr(politeness, "LEAST_WISH_SECONDS", 0.1)
    monkeypatch.setattr(politeness, "LONGEST_RETRY_SECONDS", 0.5)
    answer = (503, {"Retry-After": asked} if asked else {}, "")
    site = site_with({**dict.fromkeys(pages_of(12), "x"), **dict.fromkeys(bad, answer)})

    run = work_off(start_run(create_crawl(order(f"{site.url}/"))))

    assert ended(run) == {("s", 200): 13 - len(bad), ("f", 503): len(bad)}
    asked_for = Counter(request.path for request in site.log)
    assert {asked_for[path] for path in bad} <= {
        politeness.MAX_ATTEMPTS,
        politeness.MAX_ATTEMPTS + 1,
    }


def test_a_host_that_asks_for_an_hour_at_a_known_page_too_rests_for_it(
    banning, order, work_off, hurried, monkeypatch
):
    monkeypatch.setattr(politeness, "LEAST_WISH_SECONDS", 0.1)
    banning.way = (503, {"Retry-After": "3600"}, "")
    run = start_run(create_crawl(order(f"{banning.url}/")))

    work_off(run, until=lambda run: is_doubtful(run, tries=2))

    found = read_outage(HostQueue.objects.get(run=run).outage)
    assert len(banning.refused) == politeness.DOUBTFUL_ROW + 1
    assert 3500 < (found.retry_at - timezone.now()).total_seconds() <= 3600 * 1.1


@pytest.fixture
def banning(make_site, monkeypatch):
    """A site that refuses all pages but robots.txt from its fifth request on, until `over` is set,
    in the way that `banning.way` says.
    """
    monkeypatch.setattr(politeness, "BACKOFFS", dict.fromkeys((429, 503, -5, -7, -25), (0.1, 0.4)))
    monkeypatch.setattr(politeness, "FIRST_REST_SECONDS", 0.1)
    over = threading.Event()

    def page(request):
        if request.path == "/robots.txt":
            return 404, {}, ""
        if over.is_set() or sum(r.path != "/robots.txt" for r in site.log) <= 5:
            return 200, HTML, links(*pages_of(40)) if request.path == "/" else "x"
        site.refused.append(request.path)
        return failing(site.way, over)

    site = make_site(dict.fromkeys(("/robots.txt", "/", *pages_of(40)), page))
    site.refused, site.over, site.way = [], over, None
    yield site
    over.set()


@pytest.mark.parametrize(
    "way",
    [(403, {}, ""), (429, {}, ""), (500, {}, ""), SILENT],
    ids=["403", "429", "500", "silent"],
)
def test_a_ban_costs_time_and_no_tries_of_the_pages_that_wait(
    banning, order, work_off, hurried, way
):
    banning.way = way
    run = start_run(create_crawl(order(f"{banning.url}/", first_byte_seconds=1)))

    work_off(run, until=lambda run: is_doubtful(run, tries=3))

    assert len(banning.refused) <= 12
    attempts = Url.objects.filter(run=run, state="q").values_list("attempts", flat=True)
    assert sum(attempts) <= politeness.DOUBTFUL_ROW
    told = LogLine.objects.filter(run=run, message__contains="It was had before").first()
    assert told is not None
    assert "next attempt at" in told.message

    banning.over.set()
    work_off(run)
    done = ended(run)
    assert done["s", 200] >= 39
    assert done.total() == 41


@pytest.mark.parametrize("kind", ["text/event-stream; charset=utf-8", "multipart/x-mixed-replace"])
def test_a_stream_without_an_end_is_cut_at_its_head_and_says_so(make_site, order, work_off, kind):
    site = make_site({"/": links("/stream", "/a"), "/a": "x"})
    site.pages["/stream"] = (200, {"Content-Type": kind, "Content-Length": "1000000"}, "data: 1")

    run = work_off(start_run(create_crawl(order(f"{site.url}/", read_seconds=20))))

    found = Url.objects.get(run=run, url__endswith="/stream")
    assert (found.state, found.status, found.attempts) == ("x", FetchStatus.WRONG_TYPE, 1)
    assert "stream without an end" in found.error


def test_what_drips_beyond_its_time_is_not_tried_again_and_several_make_the_host_wait(
    order, work_off, hurried
):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pit = TarPit(drips_for_ever, listener)
        seed = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        run = start_run(create_crawl(order(seed, document_seconds=1)))
        work_off(run, until=is_doubtful)

    found = read_outage(HostQueue.objects.get(run=run).outage)
    assert (found.row, found.known_page) == (politeness.DOUBTFUL_ROW, "")
    assert "did not end" in found.sentence
    assert len(pit.held) == politeness.DOUBTFUL_ROW
    slow = Url.objects.filter(run=run, status=FetchStatus.TOO_SLOW)
    assert set(slow.values_list("state", "attempts")) == {("f", 1)}
