"""No host sees two requests closer together than its delay, however many crawls and workers there
are: the servers' own log says so.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from itertools import pairwise

import pytest

from allocation.services import set_capacity
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawlsite.programs import eventually_moving
from tests.nameserver import serve_names
from tests.servers import serve_site
from tests.stack import SCHEDULER, WORKER, running_stack

DELAY = 0.6


pytestmark = [pytest.mark.usefixtures("transactional_db", "identified"), pytest.mark.slow]


class Web:
    """Hosts by name on one server: each has a page that leads to `pages` more.

    Counts requests that are answered at the same time.
    """

    def __init__(self, hosts, pages):
        self.pages, self.names = pages, [f"h{number}.shared.test" for number in range(hosts)]
        self.lock, self.in_flight, self.overlaps = threading.Lock(), Counter(), []

    def reply(self, request):
        name = request.host.partition(":")[0]
        with self.lock:
            self.in_flight[name] += 1
            self.overlaps.extend([name] * (self.in_flight[name] > 1))
        try:
            if request.path == "/robots.txt":
                return 404, {}, ""
            body = links(*(f"/{number}" for number in range(self.pages)))
            return 200, {"Content-Type": "text/html"}, body
        finally:
            with self.lock:
                self.in_flight[name] -= 1

    def gaps(self, log):
        """Seconds between two requests to a host, by host."""
        at = defaultdict(list)
        for request in log:
            at[request.host.partition(":")[0]].append(request.at)
        return {
            name: [later - earlier for earlier, later in pairwise(sorted(times))]
            for name, times in at.items()
        }

    def seeds(self, site):
        return [f"http://{name}:{site.port}/" for name in self.names]


@contextmanager
def serving(web, elsewhere=()):
    """The web on loopback, and a name server that knows its hosts.

    elsewhere: addresses of those that others serve.
    """
    with ExitStack() as stack:
        names = stack.enter_context(serve_names())
        site = stack.enter_context(serve_site({}))
        names.hosts = {name: ["127.0.0.1"] for name in web.names} | {
            name: [address] for name, address in dict(elsewhere).items()
        }
        site.reply = web.reply
        yield site, "{}:{}".format(*names.address)


def crawl(order, web, site, *, name, processes, **fields):
    # All hosts are at one address, whose own clock is not what is measured here.
    fields = {
        "delay_seconds": DELAY,
        "address_delay_seconds": 0,
        "archive": False,
        "batch_size": 10,
        **fields,
    }
    claim = {"fetch_slots": 8, "bandwidth": 5000, "memory": 8, "dns_slots": 8}
    return start_run(
        create_crawl(order(*web.seeds(site), name=name, processes=processes, claim=claim, **fields))
    )


def ended(runs):
    return all(
        run.state in ENDED_STATES for run in Run.objects.filter(pk__in=[run.pk for run in runs])
    )


def crawl_together(order, tmp_path, web, *, workers, processes):
    """Two crawls of the same hosts at once; returns the server's log."""
    with serving(web) as (site, names), running_stack(tmp_path, DNS_SERVERS=names) as stack:
        runs = [
            crawl(order, web, site, name=name, processes=processes) for name in ("one", "other")
        ]
        for command in [SCHEDULER, *[WORKER] * workers]:
            stack.start(command)
        eventually_moving(lambda: ended(runs), Page.objects.count, 60)
        pages = [Page.objects.filter(run=run).count() for run in runs]
    assert pages == [len(web.names) * (web.pages + 1)] * 2
    return site.log


def test_two_crawls_on_the_same_hosts_keep_every_delay(order, tmp_path):
    web = Web(hosts=6, pages=1)

    log = crawl_together(order, tmp_path, web, workers=2, processes=1)

    gaps = web.gaps(log)
    assert len(gaps) == 6
    assert min(min(each) for each in gaps.values()) >= DELAY
    assert web.overlaps == []


@pytest.mark.drill
@pytest.mark.timeout(1200)
def test_two_crawls_by_ten_workers_on_a_thousand_hosts_keep_every_delay(order, pool, tmp_path):
    set_capacity(pool=pool.pk, capacity={"worker": 10, "fetch_slots": 128, "dns_slots": 128})
    web = Web(hosts=1000, pages=2)

    log = crawl_together(order, tmp_path, web, workers=10, processes=5)

    gaps = web.gaps(log)
    assert len(gaps) == 1000
    assert sum(map(len, gaps.values())) >= 1000 * 6
    assert [each for each in gaps.values() if min(each) < DELAY] == []
    assert web.overlaps == []
