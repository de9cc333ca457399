"""One tar pit among a thousand hosts costs the rest at most a twentieth of the fetch threads.

Every fetch thread always has a host to go to: each page of the rest takes a moment on its server,
and each of the pit's as long as it is let. The pit costs the fetch threads' time that it has, as
its own server sees it, and whatever else stands still meanwhile: so its fetch thread is the only
one that the rest may lack. Medians and shares of time, and no count of work done, or a busy machine
would be the judge.
"""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import median

import pytest

from crawling.models import Shift
from crawling.runs.steering import stop
from tests.crawling.frontier.test_zero_gaps import Web, crawl, ended, serving
from tests.crawling.raw import read_request
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

pytestmark = pytest.mark.usefixtures("transactional_db", "identified")

THREADS = 8
#: what one page of the rest takes, how long and how often is looked, and what one document of the
#: pit may take
ANSWER_SECONDS, WINDOW_SECONDS, LOOK_SECONDS, DOCUMENT_SECONDS = 0.4, 150.0, 0.05, 10.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
ROBOTS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LINKS = HEAD + b"".join(
    b'<a href="/%s%s">x</a>' % (one, other)
    for one in map(b"%c".__mod__, range(97, 123))
    for other in (b"a", b"b")
)


class SlowWeb(Web):
    """Each page of the rest takes its time."""

    at_work = 0

    def reply(self, request):
        if request.path == "/robots.txt":
            return super().reply(request)
        with self.lock:
            self.at_work += 1
        time.sleep(ANSWER_SECONDS)
        with self.lock:
            self.at_work -= 1
        return super().reply(request)


class TarPit:
    """A server whose pages do what `talk` does with their connections; `held` has when each of them
    began and ended.
    """

    def __init__(self, talk, listener):
        self.talk, self.listener, self.held = talk, listener, []
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        with suppress(OSError):  # the listener was closed
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        began = time.monotonic()
        with connection, suppress(OSError):  # the crawler hung up
            path = read_request(connection)
            if path in (b"/robots.txt", b"/"):
                connection.sendall(ROBOTS if path == b"/robots.txt" else LINKS)
                return
            self.held.append([began, None])
            mine = self.held[-1]
            try:
                self.talk(connection)
            finally:
                mine[1] = time.monotonic()

    @property
    def has_a_thread(self):
        return bool(self.held) and self.held[-1][1] is None

    def seconds(self, since, until):
        """How long it kept fetch threads between two moments."""
        return sum(
            max(0.0, min(end or until, until) - max(begin, since)) for begin, end in list(self.held)
        )


def says_nothing(connection):
    connection.recv(1)  # ends when the crawler hangs up


def drips_for_ever(connection):
    _drip(connection, 10 * WINDOW_SECONDS)


def drips_and_ends_in_time(connection):
    """Nothing is wrong with such an answer, so no time-out and no back-off binds it."""
    _drip(connection, 0.9 * DOCUMENT_SECONDS)


TALKS = (says_nothing, drips_for_ever, drips_and_ends_in_time)


def _drip(connection, seconds):
    connection.sendall(HEAD)
    connection.settimeout(0.5)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        connection.sendall(b"x")
        with suppress(TimeoutError):
            if not connection.recv(1):
                return


@contextmanager
def tar_pit(talk, port):
    with socket.create_server(("127.0.0.2", port)) as listener:
        yield TarPit(talk, listener)
        listener.shutdown(socket.SHUT_RDWR)


@dataclass
class Looks:
    """kept: the part of the fetch threads' time that the pit had. beside, alone: how many fetch
    threads were with the rest at each look while the pit had one, and while it had none."""

    kept: float
    beside: list[int]
    alone: list[int]


def look_at(order, tmp_path, name, talk, *, hosts):
    """Crawl so many hosts for a while, with more pages than there is time for, and look."""
    web, beside, alone = SlowWeb(hosts, pages=5000 // hosts), [], []
    web.names[0] = name  # among the first that are leased, as the names go
    with (
        serving(web, {name: "127.0.0.2"}) as (site, names),
        tar_pit(talk, site.port) as pit,
        running_stack(tmp_path, DNS_SERVERS=names) as stack,
    ):
        run = crawl(
            order,
            web,
            site,
            name=name,
            processes=1,
            delay_seconds=0.2,
            document_seconds=DOCUMENT_SECONDS,
        )
        for command in (SCHEDULER, WORKER):
            stack.start(command)
        wait_until(lambda: pit.held and web.at_work >= THREADS - 1, seconds=120)
        since = time.monotonic()
        while time.monotonic() < since + WINDOW_SECONDS:
            (beside if pit.has_a_thread else alone).append(web.at_work)
            time.sleep(LOOK_SECONDS)
        kept = pit.seconds(since, time.monotonic()) / (THREADS * (time.monotonic() - since))
        assert not Shift.objects.exclude(ended_at=None).exists(), (
            "a shift has ended, so what was seen says nothing of the pit"
        )
        stop(run.crawl)
        wait_until(lambda: ended([run]), seconds=60)
    return Looks(kept, beside, alone)


@pytest.mark.drill
@pytest.mark.timeout(600)
@pytest.mark.parametrize("talk", TALKS)
def test_a_tar_pit_among_a_thousand_hosts_costs_the_rest_at_most_a_twentieth(
    order, pool, tmp_path, talk
):
    judge(look_at(order, tmp_path, "a.pit.test", talk, hosts=1000), talk)


@pytest.mark.drill
@pytest.mark.timeout(600)
def test_a_tar_pit_among_a_few_hosts_costs_the_rest_no_more(order, pool, tmp_path):
    """With no long line of others before it, only standing aside keeps it from having a fetch
    thread half of the time.
    """
    judge(
        look_at(order, tmp_path, "a.pit.test", drips_and_ends_in_time, hosts=30),
        drips_and_ends_in_time,
    )


def judge(looks, talk):
    kept = f"a pit that {talk.__name__} kept {looks.kept:.1%} of the fetch threads"
    assert 0 < looks.kept <= 0.05, kept
    beside, alone = median(looks.beside), median(looks.alone)
    print(f"{kept}; with the rest were {alone:g} of them, and {beside:g} while it had one")
    assert beside >= alone - 1
