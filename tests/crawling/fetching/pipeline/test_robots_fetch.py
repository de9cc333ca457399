"""robots.txt is followed where it redirects to, vetted and politely (RFC 9309, section 2.3.1)."""

import threading
import time
from datetime import timedelta
from ipaddress import ip_network
from itertools import pairwise

import pytest
from django.utils import timezone

from crawling.fetching.pipeline.client import Client, Egress, RequestPolicy
from crawling.fetching.pipeline.context import CrawlPace
from crawling.fetching.pipeline.robots import LATER_SECONDS, MOST_TRIES, learn_robots
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import LeasedHost
from crawling.frontier.address_clock import AHEAD_SECONDS
from crawling.frontier.host_state import store_robots
from crawling.models import AddressClock, Host
from crawling.web.addresses import read_address
from crawling.web.fetch.budgets import Bandwidth
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.robots import MAX_HOPS, fetch_robots, status_and_text
from crawling.web.robots import MAX_ROBOTS_BYTES
from crawling.web.statuses import FetchStatus
from crawling.web.vetting import AllowedRange, DialPolicy
from tests.crawling.contexts import HERE, NotingPort, make_client, make_fetch_context

pytestmark = pytest.mark.django_db  # hosts on the way have clocks there

RULES = (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /secret\nCrawl-delay: 7")


@pytest.fixture
def learn():
    """Return a function that learns a site's robots.txt: (the visit, what was kept)."""

    def learn(site, *, delay_seconds=0.0, allowed=None, visit=None):
        port = NotingPort()
        client = make_client(allowed=allowed or [HERE])
        context = make_fetch_context(delay_seconds=delay_seconds, client=client, port=port)
        visit = visit or Visit.of(LeasedHost(1, 1, "x", 0.0), delay_seconds=delay_seconds)
        learn_robots(visit, read_address(f"{site.url}/x"), site.address, context)
        return visit, port.robots

    return learn


def waits_for_robots(visit, why):
    """Whether all of the host waits because there is no robots.txt, for that reason."""
    outage = visit.availability.outage
    return bool(outage and outage.status == FetchStatus.ROBOTS_UNAVAILABLE and why in outage.error)


def moved(to):
    return 302, {"Location": to}, ""


def test_the_rules_hold_for_the_visit_and_are_kept(make_site, learn):
    site = make_site({"/robots.txt": RULES})

    visit, kept = learn(site)

    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")
    assert visit.clock.delay == 7
    assert visit.clock.free_at > time.monotonic() + 6
    assert kept == [(site.url, 200, RULES[2].encode())]


@pytest.mark.parametrize("hops", [1, MAX_HOPS])
def test_five_redirects_are_followed(make_site, learn, hops):
    pages = {f"/{hop}": moved(f"/{hop + 1}") for hop in range(1, hops)}
    site = make_site({"/robots.txt": moved("/1"), **pages, f"/{hops}": RULES})

    visit, _ = learn(site)

    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")
    assert len(site.log) == hops + 1


@pytest.mark.parametrize(
    ("location", "requests"),
    [("/robots.txt", 1), ("ftp://a.test/robots.txt", 1), ("http://[broken", 1), ("", 1)],
    ids=["a circle", "another protocol", "no URL", "nowhere"],
)
def test_redirects_that_lead_nowhere_count_as_no_robots_txt(make_site, learn, location, requests):
    site = make_site({"/robots.txt": moved(location)})

    visit, kept = learn(site)

    assert visit.robots.by_origin[site.url].allows(f"{site.url}/secret")
    assert (len(site.log), kept[0][1]) == (requests, 404)


def test_rules_found_elsewhere_hold_for_the_origin_that_sent_there(make_site, learn):
    other = make_site({"/robots.txt": RULES}, address="127.0.0.2")
    site = make_site({"/robots.txt": moved(f"{other.url}/robots.txt")})

    visit, _ = learn(site)

    assert list(visit.robots.by_origin) == [site.url]
    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")


def test_a_hop_to_an_address_whose_turns_are_given_out_holds_its_host_for_nobody(make_site, learn):
    other = make_site({"/rules": RULES}, address="127.0.0.2")
    site = make_site({"/robots.txt": moved(f"{other.url}/rules")})
    AddressClock.objects.create(
        address=other.address, due_at=timezone.now() + timedelta(seconds=AHEAD_SECONDS + 20)
    )

    begun = time.monotonic()
    visit, kept = learn(site, delay_seconds=1)

    assert time.monotonic() - begun < 10
    assert (len(site.log), other.log, kept) == (1, [], [])
    assert Host.objects.get().due_at < timezone.now() + timedelta(seconds=1)

    AddressClock.objects.update(due_at=timezone.now())
    visit, _ = learn(site, delay_seconds=1, visit=visit)
    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")


def test_a_hop_to_a_host_that_others_have_waits_and_asks_nothing_twice(make_site, learn):
    other = make_site({"/rules": RULES}, address="127.0.0.2")
    site = make_site({"/robots.txt": moved(f"{other.url}/rules")})
    name = read_address(other.url).host_key
    Host.objects.create(name=name, due_at=timezone.now() + timedelta(minutes=1))

    visit, kept = learn(site)
    assert (len(site.log), other.log, kept) == (1, [], [])
    assert 0 < visit.clock.free_at - time.monotonic() <= LATER_SECONDS

    Host.objects.update(due_at=timezone.now())
    visit, _ = learn(site, delay_seconds=30, visit=visit)
    assert (len(site.log), len(other.log)) == (1, 1)
    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")
    assert Host.objects.get().due_at > timezone.now() + timedelta(seconds=25)


def test_a_host_that_is_never_to_be_had_counts_as_silent(make_site, learn):
    other = make_site({"/rules": RULES}, address="127.0.0.2")
    site = make_site({"/robots.txt": moved(f"{other.url}/rules")})
    Host.objects.create(
        name=read_address(other.url).host_key, due_at=timezone.now() + timedelta(minutes=1)
    )

    visit, _ = learn(site)
    visit.robots.tries = MOST_TRIES
    _, kept = learn(site, visit=visit)

    assert kept == [(site.url, FetchStatus.ROBOTS_UNAVAILABLE, b"")]


def test_rules_that_another_hosts_own_visit_has_learnt_are_not_asked_for_again(make_site, learn):
    other = make_site({"/robots.txt": RULES}, address="127.0.0.2")
    site = make_site({"/robots.txt": moved(f"{other.url}/robots.txt")})
    store_robots(other.url, 200, RULES[2].encode())

    visit, _ = learn(site)

    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")
    assert not other.connections


def test_a_hop_to_an_address_that_is_not_allowed_is_not_taken(make_site, learn):
    inside = make_site({"/robots.txt": RULES}, address="127.0.0.2")
    site = make_site({"/robots.txt": moved(f"{inside.url}/robots.txt")})

    visit, _ = learn(site, allowed=[AllowedRange(ip_network("127.0.0.1/32"), 1, 65535)])

    assert not inside.connections
    assert waits_for_robots(visit, "not public")


def test_a_hop_to_another_port_of_the_same_host_is_vetted_too(make_site, learn):
    inside = make_site({"/robots.txt": RULES})
    site = make_site({"/robots.txt": moved(f"{inside.url}/robots.txt")})

    visit, _ = learn(site, allowed=[AllowedRange(ip_network("127.0.0.1/32"), site.port, site.port)])

    assert not inside.connections
    assert waits_for_robots(visit, "not public")


def test_a_hop_from_https_to_http_is_vetted_by_its_own_port():
    """Both are the same host, and only here does a fetcher stand in: the ports are those that tests
    may not have.
    """
    fetched = []

    class Redirected(Client):
        def get(self, address, dial, max_bytes=None, **how):
            fetched.append(address.url)
            return Fetched(302, {"Location": "http://127.0.0.1/robots.txt"}, http_status=302)

    allowed = [AllowedRange(ip_network("127.0.0.1/32"), 443, 443)]
    client = Redirected(RequestPolicy("t/1"), Egress(DialPolicy(tuple(allowed))), Bandwidth(1), 1)
    visit = Visit.of(LeasedHost(1, 1, "x", 0.0))

    learn_robots(
        visit, read_address("https://127.0.0.1/x"), "127.0.0.1", make_fetch_context(client=client)
    )

    assert fetched == ["https://127.0.0.1/robots.txt"]
    assert waits_for_robots(visit, "not public")


def test_the_delay_is_kept_between_hops(make_site, learn):
    site = make_site({"/robots.txt": moved("/1"), "/1": moved("/2"), "/2": RULES})

    learn(site, delay_seconds=0.1)

    times = [request.at for request in site.log]
    assert all(later - earlier >= 0.1 for earlier, later in pairwise(times))


def test_the_shifts_end_ends_the_waiting_between_hops():
    pace = CrawlPace()
    threading.Timer(0.05, pace.ending.set).start()
    begun = time.monotonic()

    pace.pause(60)

    assert time.monotonic() - begun < 5


def test_of_a_robots_txt_that_is_too_big_the_beginning_holds(make_site, learn):
    site = make_site({"/robots.txt": (200, {}, RULES[2] + "\n" + "#" * MAX_ROBOTS_BYTES)})

    visit, kept = learn(site)

    assert not visit.robots.by_origin[site.url].allows(f"{site.url}/secret")
    assert len(kept[0][2]) == MAX_ROBOTS_BYTES


@pytest.mark.parametrize(("status", "unavailable"), [(404, 0), (503, 503)])
def test_an_error_page_that_is_too_big_is_still_an_error(make_site, learn, status, unavailable):
    site = make_site({"/robots.txt": (status, {}, RULES[2] + "\n" + "#" * MAX_ROBOTS_BYTES)})

    visit, _ = learn(site)

    assert waits_for_robots(visit, "503") == bool(unavailable)


def test_a_redirect_with_a_body_that_is_too_big_is_followed(make_site, learn):
    site = make_site(
        {"/robots.txt": (302, {"Location": "/1"}, "#" * (MAX_ROBOTS_BYTES + 1)), "/1": RULES}
    )

    visit, _ = learn(site)

    assert visit.clock.delay == 7


def test_what_no_server_answered_is_kept_under_our_own_status():
    answer = fetch_robots("http://a.test", lambda address, hop: Fetched(FetchStatus.TIMED_OUT))

    assert status_and_text(answer) == (FetchStatus.TIMED_OUT, b"")
