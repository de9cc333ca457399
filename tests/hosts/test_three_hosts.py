"""One crawl on several hosts, which are cut off, slowed, joined and restarted: the web server's own
log shows that each page is fetched, and that no site is asked too soon.
"""

from __future__ import annotations

import signal
import time
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

import psutil
import pytest
from warcio.checker import Checker

from tests.crawlsite.conftest import make_place, place
from tests.crawlsite.programs import eventually, eventually_moving
from tests.hosts.cluster import LEASE_SECONDS, WORKER_HOSTS, Cluster, running_cluster
from tests.hosts.web import ROBOTS, Request
from tests.kill_anywhere.judging import answers_in, judge_bank

__all__ = ["make_place", "place"]

pytestmark = [pytest.mark.drill, pytest.mark.timeout(1800)]

SITES, PAGES, DELAY = 50, 300, 1.0
NAME = "three hosts"
ORDER = {
    "processes": 3,
    "delay_seconds": DELAY,
    "batch_size": 10,
    "claim": {"fetch_slots": 20, "bandwidth": 5000, "memory": 8, "dns_slots": 8},
}
#: the time until other hosts fetch from half of the sites that a host has lost, and from all: the
#: URLs that it had in hand are suspects, of which a work session takes ten at a time
HALF_TAKEN_SECONDS, ALL_TAKEN_SECONDS = 2 * LEASE_SECONDS, 5 * LEASE_SECONDS
#: the URLs that a lost work session had in hand and that are not fetched yet
SUSPECTS = "SELECT count(*) FROM crawling_url WHERE losses > 0 AND state IN ('q', 'p')"
PROGRESS = "SELECT count(*) FROM crawling_page"


def pages_of(cluster: Cluster) -> int:
    """The pages so far; 0 while the database does not answer."""
    return (cluster.stage.hears(PROGRESS) or [(0,)])[0][0]


def await_pages(cluster: Cluster, more: int) -> None:
    """Wait until the crawl has recorded this many more."""
    wanted = pages_of(cluster) + more
    eventually_moving(lambda: pages_of(cluster) >= wanted, lambda: pages_of(cluster), 90)


def clients_since(cluster: Cluster, begin: float) -> Counter[str]:
    return Counter(request.client for request in cluster.requests() if request.at > begin)


def await_requests(cluster: Cluster, name: str, begin: float) -> None:
    """Wait until a host asks the web for a page after this time."""
    eventually(lambda: clients_since(cluster, begin)[WORKER_HOSTS[name]], 240)


def sites_of(requests: list[Request], name: str) -> set[str]:
    """The sites whose latest request is this host's."""
    latest = {request.site: request.client for request in requests}
    return {site for site, client in latest.items() if client == WORKER_HOSTS[name]}


def open_sites(cluster: Cluster) -> set[str]:
    """The sites that have URLs left."""
    rows = cluster.stage.ask(
        "SELECT split_part(url, '/', 3) FROM crawling_url WHERE state NOT IN ('s', 'f') GROUP BY 1"
    )
    return {site for (site,) in rows}


def test_one_crawl_on_three_hosts_survives_what_befalls_them(place):
    with running_cluster(place, SITES, PAGES) as cluster:
        cluster.start_worker("a")
        cluster.start_worker("b")
        cluster.start_scheduler("b")
        seeds = [f"http://{site}/" for site in cluster.sites]
        cluster.stage.crawl({NAME: {**ORDER, "seeds": seeds}})
        await_pages(cluster, 200)
        try:
            for trouble in TROUBLES:
                began = time.monotonic()
                trouble(cluster)
                print(
                    f"{trouble.__name__}: {time.monotonic() - began:.1f} s, "
                    f"{pages_of(cluster)} pages"
                )
            cluster.stage.await_end()
            judge(cluster)
        except AssertionError:
            print(state_of(cluster))
            raise


def state_of(cluster: Cluster) -> str:
    """The processes in the pool, the work sessions, the URLs that were lost, and the last lines of
    each worker and scheduler.
    """
    rows = [
        *cluster.stage.ask(
            "SELECT label, holding, is_waiting, epoch, lease_until::text FROM allocation_process"
        ),
        *cluster.stage.ask(
            "SELECT process_id, epoch, started_at::text, ending FROM crawling_shift ORDER BY id"
        ),
        *cluster.stage.ask(
            "SELECT losses, state, shift_id, due_at > now(), count(*) FROM crawling_url "
            "WHERE losses > 0 GROUP BY 1, 2, 3, 4"
        ),
    ]
    logs = [cluster.log_of("worker", name) for name in WORKER_HOSTS] + scheduler_logs(cluster)
    return "\n".join([*map(str, rows), *(log[-2000:] for log in logs)])


def add_a_host(cluster: Cluster) -> None:
    begin = time.monotonic()
    cluster.start_worker("c")
    await_requests(cluster, "c", begin)


def slow_the_way_to_the_servers(cluster: Cluster) -> None:
    cluster.relay("b", "delay", 0.1)
    cluster.hosts["a"].throttle("400kbit")
    await_pages(cluster, 300)
    cluster.relay("b", "delay", 0)
    cluster.hosts["a"].throttle(None)


def cut_a_host_off(cluster: Cluster) -> None:
    """The host comes back with a work session without a lease, and takes another one."""
    begin = time.monotonic()
    cluster.hosts["a"].set_link("down")
    await_others(cluster, "a", begin)
    cluster.hosts["a"].set_link("up")
    await_requests(cluster, "a", time.monotonic())
    await_suspects(cluster)


def stall_the_way_to_the_servers(cluster: Cluster) -> None:
    """The host can reach the web all the time, but may not fetch once its lease has ended."""
    begin = time.monotonic()
    cluster.relay("b", "stall")
    await_others(cluster, "b", begin)
    latest = max(one.at for one in cluster.requests() if one.client == WORKER_HOSTS["b"])
    assert latest < begin + LEASE_SECONDS
    cluster.relay("b", "resume")
    await_requests(cluster, "b", time.monotonic())
    await_suspects(cluster)


def await_others(cluster: Cluster, name: str, begin: float) -> None:
    """Wait until other hosts fetch from all sites of this one, which it lost at this time."""
    lost = sites_of(cluster.requests(), name)
    assert lost, f"host {name} has no sites"
    eventually(lambda: not (lost & open_sites(cluster)) - set(taken(cluster, name, begin)), 120)
    first = taken(cluster, name, begin)
    waits = sorted(first[site] - begin for site in lost if site in first)
    half, last = waits[len(waits) // 2], waits[-1]
    print(f"{len(lost)} sites were taken over, half after {half:.1f} s, all after {last:.1f} s")
    assert half < HALF_TAKEN_SECONDS
    assert last < ALL_TAKEN_SECONDS


def await_suspects(cluster: Cluster) -> None:
    """Wait until the URLs that were lost are fetched: those that are lost again are tried alone,
    once a work session has nothing else to do.
    """
    eventually(lambda: cluster.stage.ask(SUSPECTS) == [(0,)], 120)


def taken(cluster: Cluster, name: str, begin: float) -> dict[str, float]:
    """The sites that others than this host have asked since this time, and when at first."""
    first: dict[str, float] = {}
    for request in cluster.requests():
        if request.at > begin and request.client != WORKER_HOSTS[name]:
            first.setdefault(request.site, request.at)
    return first


def cut_all_connections(cluster: Cluster) -> None:
    for name in WORKER_HOSTS:
        cluster.relay(name, "cut")
    await_pages(cluster, 200)


def restart_the_servers(cluster: Cluster) -> None:
    for server in ("bin/postgres", "valkey"):
        for process in cluster.stage._named(server):
            process.send_signal(signal.SIGKILL)
    await_pages(cluster, 200)


def kill_the_leading_scheduler(cluster: Cluster) -> None:
    """The one beside the servers leads, or the one on host b: each is killed in turn, until another
    one leads.
    """
    before = leads(cluster)
    for scheduler in schedulers(cluster):
        scheduler.kill()
        await_pages(cluster, 100)
    assert leads(cluster) > before, "no other scheduler leads"


def schedulers(cluster: Cluster) -> list[psutil.Process]:
    supervisors = [cluster.stage.product.process, *cluster.processes]
    below = [one for each in supervisors for one in psutil.Process(each.pid).children()]
    return [one for one in below if "manage.py scheduler" in " ".join(one.cmdline())]


def leads(cluster: Cluster) -> int:
    """How often a scheduler has begun to lead."""
    return sum(log.count("this scheduler leads") for log in scheduler_logs(cluster))


def scheduler_logs(cluster: Cluster) -> list[str]:
    """The outputs of the scheduler beside the servers, and of the one on host b."""
    beside = cluster.stage.place / "logs" / "scheduler.log"
    return [beside.read_text(), cluster.log_of("scheduler", "b")]


TROUBLES: list[Callable[[Cluster], None]] = [
    add_a_host,
    slow_the_way_to_the_servers,
    cut_a_host_off,
    stall_the_way_to_the_servers,
    cut_all_connections,
    restart_the_servers,
    kill_the_leading_scheduler,
]


def judge(cluster: Cluster) -> None:
    """Each page is there once, no site was asked too soon, and nothing is held."""
    requests = [request for request in cluster.requests() if request.path != ROBOTS]
    expected = {(site, path) for site in cluster.sites for path in ("/", *map(_path, range(PAGES)))}
    rows = cluster.stage.ask("SELECT url, state FROM crawling_url")
    assert {(url, state) for url, state in rows} == {
        (f"http://{site}{path}", "s") for site, path in expected
    }
    times = Counter((request.site, request.path) for request in requests)
    assert set(times) == expected
    print(f"{sum(times.values()) - len(times)} of {len(times)} pages were fetched again")
    assert max(times.values()) <= 3
    judge_gaps(cluster.requests())
    judge_bank(cluster.stage)
    judge_archives(cluster)


def _path(number: int) -> str:
    return f"/{number}"


def judge_gaps(requests: list[Request]) -> None:
    """No site saw two requests closer together than its delay, whichever host they came from."""
    by_site: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(requests, key=lambda one: one.at):
        by_site[request.site].append(request)
    early = [
        (later.at - earlier.at, earlier, later)
        for each in by_site.values()
        for earlier, later in pairwise(each)
        if later.at - earlier.at < DELAY
    ]
    assert early == []


def judge_archives(cluster: Cluster) -> None:
    """Each page has one record, in a whole file of the host that fetched it."""
    found = []
    for name in WORKER_HOSTS:
        for path in (cluster.stage.place / f"worker-{name}" / "archive").rglob("*.warc.gz"):
            assert Checker(Namespace(inputs=[str(path)], verbose=False)).process_all() == 0
            found += [(path.name, *answer[:2]) for answer in answers_in(path)]
    rows = cluster.stage.ask(
        "SELECT f.name, p.archive_offset, u.url FROM crawling_page p "
        "JOIN crawling_url u ON u.id = p.url_id JOIN crawling_archivefile f "
        "ON f.id = p.archive_file_id"
    )
    pages = Counter(place for place in found if not place[2].endswith(ROBOTS))
    assert pages == Counter(rows)
