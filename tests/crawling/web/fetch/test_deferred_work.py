"""A thread does what it has deferred while it waits for a server, at no cost to the server."""

import threading
import time

import pytest

from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.deferred_work import (
    defer_work,
    do_next_deferred,
    do_ready_work,
    has_deferred_work,
)
from crawling.web.fetch.http import RequestOptions
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import OK, get, say, serve_raw
from tests.servers import make_certificate, require_openssl, tls_context

ANSWER = OK + b"Content-Length: 2\r\n\r\nhi"


@pytest.mark.parametrize("is_secure", [False, True])
def test_it_is_done_once_the_next_request_has_gone_out(make_site, tmp_path, is_secure):
    asked, found, certificate = threading.Event(), [], None
    pages = {"/": "x", "/next": lambda request: (asked.set(), (200, {}, "y"))[1]}
    if is_secure:
        require_openssl()
        certificate = make_certificate(tmp_path, "site.test")
    site = make_site(pages, tls=certificate and tls_context(certificate))
    url = site.url.replace("127.0.0.1", "site.test") if is_secure else site.url

    with PinnedSession(authorities=certificate and str(certificate)) as session:
        get(f"{url}/", session=session)
        defer_work(lambda: found.append(asked.wait(10)))
        answer = get(f"{url}/next", session=session)

    assert (found, answer.body.read()) == ([True], b"y")
    assert not has_deferred_work()


def test_it_is_done_before_a_new_connection_is_opened():
    found = []
    with serve_raw(say(ANSWER)) as (url, accepted):
        defer_work(lambda: found.append(len(accepted)))
        answer = get(url)

    assert (found, answer.status) == ([0], 200)


def test_its_time_does_not_count_against_the_server():
    with (
        serve_raw(say(ANSWER, then=say(ANSWER))) as (url, _),
        PinnedSession(answer_seconds=1.0, read_seconds=1.0) as session,
    ):
        get(url, session=session)
        defer_work(lambda: time.sleep(1.2))  # longer than the server may take
        answer = get(url, session=session, how=RequestOptions(timeouts=(5.0, 1.0)))

    assert answer.status == 200


def test_a_server_that_says_nothing_is_waited_for_as_long_as_without_it():
    silent = threading.Event()
    with (
        serve_raw(say(ANSWER, then=say(then=lambda _: silent.wait(10)))) as (
            url,
            _,
        ),
        PinnedSession() as session,
    ):
        get(url, session=session)
        defer_work(lambda: time.sleep(0.2))  # which is added to what the server may take
        answer = get(url, session=session, how=RequestOptions(timeouts=(5.0, 0.3)))
        silent.set()

    assert answer.status == FetchStatus.TIMED_OUT
    assert 0.5 < answer.seconds < 5


def test_where_no_request_follows_it_is_done_by_hand_and_once():
    done = []
    defer_work(lambda: done.append(1))

    assert (do_next_deferred(), do_next_deferred(), done) == (True, False, [1])


def test_what_is_not_ready_is_left_and_all_behind_it():
    done, ready = [], set()
    defer_work(lambda: done.append(1), lambda: 1 in ready)
    defer_work(lambda: done.append(2))
    assert (do_ready_work(), done) == (False, [])

    ready.add(1)
    assert (do_ready_work(), done, has_deferred_work()) == (True, [1, 2], False)


def test_of_too_much_the_first_is_done_at_once():
    done = []
    for number in range(4):
        defer_work(lambda number=number: done.append(number), lambda: False)

    assert done == [0, 1]
    assert do_next_deferred()
    assert done == [0, 1, 2, 3]


def test_what_gets_ready_during_a_slow_answer_is_done_before_its_end():
    done, answering, begun = [], threading.Event(), time.monotonic()

    def answer_late(_):
        answering.wait(30)

    with serve_raw(say(ANSWER, then=say(then=answer_late))) as (url, _), PinnedSession() as session:
        get(url, session=session)

        def work():
            done.append(time.monotonic() - begun)
            answering.set()

        defer_work(work, lambda: time.monotonic() - begun > 0.1)
        get(url, session=session)

    assert done
    assert done[0] < 20
