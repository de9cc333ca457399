"""A test fetch, which shows the answers of an order's first seeds before the crawl is created.

A test fetch is as polite as any fetch, and holds a grant. It reads strangers' documents, so it runs
as a background job (`crawling.previews.inquiry_answers`), never in the web process.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

from django.contrib.auth.models import User
from django.db import connections

from crawling.base.errors import BadOrder
from crawling.fetching.pipeline.client import Client, Egress, RequestPolicy
from crawling.fetching.pipeline.context import FetchContext, LinkJudge, RobotsPolicy
from crawling.fetching.pipeline.preconditions import address_to_dial, refusal_by_robots
from crawling.frontier.address_clock import BorrowedHost, borrow_hosts, return_host
from crawling.frontier.host_state import valid_robots
from crawling.installation.identity import dial_policy, identity, proxy_of
from crawling.jobs.temporary_grant import temporary_grant
from crawling.models import Inquiry, InquiryKind
from crawling.orders.order import CrawlOrder, read_order
from crawling.orders.sections.fetching import FetchingPart
from crawling.previews.inquiries import start_inquiry
from crawling.previews.seed_fetch_results import (
    ANSWER_SECONDS,
    LinkRuling,
    SeedTestFetch,
    TestFetchClock,
    late_fetch,
    refused_fetch,
    robots_in_words,
    target_of,
)
from crawling.runs.crawls.scope_tests import filters_of_order
from crawling.runs.seed_checks import seed_errors
from crawling.web.addresses import WEB, Address, read_address
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.registry import read_document, reader_of
from crawling.web.fetch.budgets import Bandwidth
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.robots import fetch_robots, status_and_text
from crawling.web.politeness import delay_seconds_after
from crawling.web.robots import MAX_ROBOTS_BYTES, forbidding_line
from crawling.web.secret_headers import Recipients
from crawling.web.statuses import FetchStatus, is_success, status_sentence
from dnscache.protocol.addresses import classify
from dnscache.resolver import Resolution, resolve, resolve_many

MOST_TRIED = 10
#: the longest time for all fetches together, since an operator waits
LONGEST_SECONDS = 25.0
#: the longest wait for the grant before that
GRANT_SECONDS = 20.0
#: the longest wait for a busy host
SOON_SECONDS = 3.0
MAX_BYTES = 2 * 1024 * 1024
KIB_PER_SECOND = 4 * 1024
#: the memory of each fetch: its document and robots.txt
MIB_EACH = 3
LINKS_SHOWN = 8
TOO_SLOW_HOPS = "robots.txt redirects, and the delay between the hops is too long for this page"
#: characters
MOST_TITLE = 500


def request_test_fetch(
    fields: Mapping[str, Any], *, answers: Mapping[str, Any] | None = None, by: User | None
) -> tuple[Inquiry | None, dict[str, str]]:
    """Request a background job that tries the first seeds of an order.

    Returns the inquiry or, by field, the mistakes that must be corrected first. answers: the
    answers in the form, which are shown beside the result.
    """
    order, mistakes = read_order(_without_claim(fields))
    mistakes = mistakes or (seed_errors(order) if order else {})
    if mistakes:
        return None, mistakes
    question = {"order": _without_claim(fields), "answers": dict(answers or {})}
    return start_inquiry(InquiryKind.TEST_FETCH, question, by=by), {}


def _without_claim(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without the claim, which does not matter to test fetches."""
    return {key: value for key, value in fields.items() if key != "claim"}


def run_test_fetch(fields: Mapping[str, Any], *, number: int = 0) -> list[SeedTestFetch]:
    """Fetch the first seeds of an order, as many at a time as the pool grants units for.

    Raises BadOrder or NoUnits.
    """
    order, mistakes = read_order(fields)
    if order is None:
        raise BadOrder(mistakes)
    hosts = {read_address(seed).host_key for seed in order.seeds[:MOST_TRIED]}
    wanted = {
        "fetch_slots": len(hosts),
        "dns_slots": len(hosts),
        "memory": MIB_EACH * len(hosts),
        "bandwidth": KIB_PER_SECOND,
    }
    label = f"test fetch {number}"
    moment = temporary_grant(wanted, label=label, reference=str(number), wait_seconds=GRANT_SECONDS)
    with moment as (units, lost):
        return fetch_seeds(order, units, lost)


def fetch_seeds(
    order: CrawlOrder,
    units: Mapping[str, int],
    lost: threading.Event,
    *,
    asking: Mapping[str, str] | None = None,
    with_answer: Callable[[Fetched], None] | None = None,
) -> list[SeedTestFetch]:
    """Fetch the first seeds within the units, as politely as the order says.

    asking: headers that ask for less than the whole document. with_answer: called with each
    successful answer or redirect before it is closed; links in its document are not read then.
    """
    at_a_time = min(units.get("fetch_slots", 1), max(1, units.get("memory", MIB_EACH) // MIB_EACH))
    addresses = [read_address(seed) for seed in order.seeds[:MOST_TRIED]]
    by_host: defaultdict[str, list[Address]] = defaultdict(list)
    for address in addresses:
        by_host[address.host_key].append(address)
    resolutions = resolve_many(
        {address.hostname for address in addresses if address.hostname},
        parallel=units.get("dns_slots", 1),
        deadline=ANSWER_SECONDS,
    )
    hosts = borrow_hosts(
        list(by_host), soon_seconds=SOON_SECONDS, seconds=LONGEST_SECONDS + SOON_SECONDS
    )
    rate = Bandwidth(units.get("bandwidth", KIB_PER_SECOND) * 1024)
    known = valid_robots({address.origin for address in addresses})
    rounds = _TestFetchRound(order, resolutions, known, rate, lost, asking, with_answer)
    with ThreadPoolExecutor(max_workers=at_a_time) as threads:
        done = threads.map(lambda name: rounds.try_host(by_host[name], hosts.get(name)), by_host)
        try:
            found = {fetch.url: fetch for fetches in done for fetch in fetches}
        except KeyboardInterrupt:  # the inquiry was cancelled, and may be repeated at once
            lost.set()
            for host in hosts.values():
                return_host(host, order.delay_seconds)
            raise
    return [found[address.url] for address in addresses]


OTHER_SCHEME = "Not tried: only http and https are tried here. The crawl itself will fetch it."


class _TestFetchRound:
    """The state that the threads share. Each thread has one host, and keeps its delay."""

    def __init__(
        self,
        order: CrawlOrder,
        resolutions: Mapping[str, Resolution],
        robots: Mapping[str, tuple[int, bytes]],
        bandwidth: Bandwidth,
        lost: threading.Event,
        asking: Mapping[str, str] | None,
        with_answer: Callable[[Fetched], None] | None,
    ) -> None:
        who = identity()
        self._lost, self._asking, self._with_answer = lost, asking, with_answer
        self._order, self._resolutions, self._robots = order, resolutions, dict(robots)
        self._ends_at = time.monotonic() + LONGEST_SECONDS
        policy = RequestPolicy(
            who.user_agent,
            FetchingPart.model_validate(order.model_dump(include=set(FetchingPart.model_fields))),
            Recipients.of_seeds([read_address(seed) for seed in order.seeds]),
        )
        client = Client(
            policy,
            Egress(dial_policy(), proxy_of(order.proxy)),
            bandwidth,
            MAX_BYTES,
            answer_seconds=ANSWER_SECONDS,
        )
        self._context = FetchContext(
            client, LinkJudge(filters_of_order(order)), RobotsPolicy(who.product_token)
        )

    def try_host(self, addresses: list[Address], host: BorrowedHost | None) -> list[SeedTestFetch]:
        """Try a host's seeds one after the other, in a separate thread."""
        if host is None:
            note = (
                "Not tried: a crawl has this host now, or it rests after one; a host serves one "
                "at a time. Try again in a moment."
            )
            return [SeedTestFetch(address.url, note=note) for address in addresses]
        clock = TestFetchClock(
            time.monotonic() + host.wait_seconds, self._order.delay_seconds, self._ends_at
        )
        try:
            return [self._try(address, clock) for address in addresses]
        finally:
            return_host(host, clock.delay)
            connections.close_all()

    def _try(self, address: Address, clock: TestFetchClock) -> SeedTestFetch:
        if self._lost.is_set():
            return SeedTestFetch(address.url, note="Not tried: its resources were taken back.")
        if address.scheme not in WEB:
            return SeedTestFetch(address.url, note=OTHER_SCHEME)
        resolution = self._resolutions[address.hostname]
        dial, refusal = address_to_dial(
            resolution, address.port, self._context.client.egress.dialling
        )
        shown = dial or next(iter(resolution.addresses), "")
        fetch = SeedTestFetch(
            address.url,
            address=shown,
            address_class=classify(shown).replace("_", "-") if shown else "",
        )
        if refusal:
            return refused_fetch(fetch, refusal)
        if not self._learn_robots(address, dial, clock):
            return late_fetch(fetch, clock)
        status, body = self._robots[address.origin]
        robots = self._context.robots.read(status, body)
        clock.delay = max(
            clock.delay,
            delay_seconds_after(
                configured=self._order.delay_seconds, crawl_delay=robots.crawl_delay
            ),
        )
        line = (
            ""
            if robots.unavailable or robots.allows(address.url)
            else forbidding_line(body, self._context.robots.token, address.url)
        )
        fetch = replace(fetch, robots=robots_in_words(status, line), delay=clock.delay)
        if refusal := refusal_by_robots(robots, address):
            return refused_fetch(fetch, refusal)
        clock.delay_changed()
        if not clock.wait():
            return late_fetch(fetch, clock)
        fetched = self._context.get_document(address, dial, asking=self._asking)
        clock.rest()
        with closing(fetched):
            return self._result_facts(fetch, address, fetched)

    def _learn_robots(self, address: Address, dial: str, clock: TestFetchClock) -> bool:
        """Fetch the origin's robots.txt if it is not known. Return False if the time is over."""
        if address.origin in self._robots:
            return True
        if not clock.wait():
            return False
        found = fetch_robots(
            address.origin,
            lambda hop, number: self._answer_of_hop(hop, number, address, dial, clock),
        )
        assert found is not None, "each hop has an answer"
        self._robots[address.origin] = status_and_text(found)
        clock.rest()
        return True

    def _answer_of_hop(
        self, hop: Address, number: int, address: Address, dial: str, clock: TestFetchClock
    ) -> Fetched:
        if hop.host_key != address.host_key:
            return self._at_another_host(hop)
        if number:
            clock.rest()
            if not clock.wait():
                return Fetched(FetchStatus.TIMED_OUT, error=TOO_SLOW_HOPS)
        refusal = None
        if hop.port != address.port:  # vetted again even on the same host
            dial, refusal = address_to_dial(
                resolve(hop.hostname), hop.port, self._context.client.egress.dialling
            )
        return refusal or self._robots_txt(hop, dial)

    def _at_another_host(self, hop: Address) -> Fetched:
        """Follow a redirect of robots.txt to a host with its own pace, which is borrowed like the
        hosts of seeds.
        """
        dial, refusal = address_to_dial(
            resolve(hop.hostname), hop.port, self._context.client.egress.dialling
        )
        if refusal:
            return refusal
        seconds = SOON_SECONDS + ANSWER_SECONDS
        found = borrow_hosts([hop.host_key], soon_seconds=SOON_SECONDS, seconds=seconds)
        host = found.get(hop.host_key)
        if host is None:
            status = FetchStatus.ROBOTS_UNAVAILABLE
            error = f"robots.txt leads to {hop.host_key}, which a crawl has now, or which rests"
            return Fetched(status, error=error)
        try:
            time.sleep(host.wait_seconds)  # politeness; SOON_SECONDS at most
            return self._robots_txt(hop, dial)
        finally:
            return_host(host, self._order.delay_seconds)

    def _robots_txt(self, hop: Address, dial: str) -> Fetched:
        return self._context.client.get(hop, dial, MAX_ROBOTS_BYTES).with_document_in_memory(
            MAX_ROBOTS_BYTES
        )

    def _result_facts(
        self, fetch: SeedTestFetch, address: Address, fetched: Fetched
    ) -> SeedTestFetch:
        fetch = replace(
            fetch,
            status=fetched.http_status or fetched.status,
            sentence=fetched.error or status_sentence(fetched.status),
            content_type=fetched.content_type,
            charset=fetched.charset or "",
            bytes=len(fetched.body),
            seconds=fetched.seconds,
            final_url=target_of(address, fetched),
        )
        if not is_success(fetched.status):
            return fetch
        if self._with_answer:
            self._with_answer(fetched)
            return fetch
        if reader_of(fetched.content_type) is None:
            return fetch
        source = DocumentSource(fetched.body, address.url, fetched.content_type, fetched.charset)
        document = read_document(source)
        fetch = replace(
            fetch, title=document.title[:MOST_TITLE], needs_browser=document.needs_browser
        )
        verdicts = tuple(
            LinkRuling(link.url, self._why_not(link)) for link in document.links[:LINKS_SHOWN]
        )
        return replace(
            fetch, charset=document.charset, links=len(document.links), verdicts=verdicts
        )

    def _why_not(self, link: Address) -> str:
        ruling = self._context.links.filters.judge(link, depth=1)
        return "" if ruling.admits else ruling.sentence
