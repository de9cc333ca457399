"""The parts of a shift and the shared state of its fetch threads, assembled once at its
beginning.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, replace

from django.utils import timezone

from crawling.base.encrypted_text import SealBroken
from crawling.datasets.example_pages import examples_with_texts
from crawling.fetching.pipeline.client import Client, Egress, RequestPolicy
from crawling.fetching.pipeline.context import (
    CopyPolicy,
    CrawlPace,
    DocumentReading,
    FetchContext,
    LinkJudge,
    RobotsPolicy,
    ShiftPort,
)
from crawling.fetching.pipeline.page_rendering import PageRendering
from crawling.fetching.shift.archive_stage import ArchiveStage
from crawling.fetching.shift.browser import ShiftBrowser
from crawling.fetching.shift.browser_stage import BrowserStage
from crawling.fetching.shift.fetch_threads import FetchThreadPool
from crawling.fetching.shift.grants import MemoryStage, ResourceUse, ShiftGrants
from crawling.fetching.shift.host_leases import HostLeases
from crawling.fetching.shift.lease import LeaseThread
from crawling.fetching.shift.port import FetchThreadPort
from crawling.fetching.shift.reading import ShiftReading
from crawling.fetching.shift.recorder import OutcomeRecorder
from crawling.fetching.shift.workbench import Workbench
from crawling.frontier import filters_of_run, serving_process_numbers
from crawling.frontier.admit.crawl_rules import unbound_hosts
from crawling.frontier.admit.quarantine import pattern_states
from crawling.frontier.record.renderings import stored_renderings
from crawling.installation.identity import (
    allowed_directories,
    dial_policy,
    identity,
    proxy_of,
    shared_networks,
)
from crawling.installation.run_log import write
from crawling.models import Level, Run, Shift
from crawling.orders.claims import BROWSER_PAGES, MOST_DOCUMENT_BYTES
from crawling.orders.ranking import COUNTS_LINKS, Order
from crawling.orders.scope.trap_gate import TrapGate
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.politeness import PolitenessPart
from crawling.runs.crawls.fetching_section import fetching_of, origins_of_secrets
from crawling.runs.extensions import missing_extensions_sentence
from crawling.runs.steering import pause_for_trouble
from crawling.web.documents.base import ReadingRules
from crawling.web.fetch.budgets import Bandwidth, MemoryBudget
from crawling.web.secret_headers import Recipients
from crawling.web.topics import Topic

Stop = Callable[[str], None]


@dataclass(frozen=True)
class ShiftParts:
    shift: Shift
    #: the context, which all threads use; only the shift's own thread uses the other parts
    context: FetchContext
    bench: Workbench
    port: FetchThreadPort
    grants: ShiftGrants
    memory: MemoryStage
    #: None if the order renders no page, or claims no browser
    browsers: BrowserStage | None
    reading: ShiftReading
    archive: ArchiveStage
    threads: FetchThreadPool
    hosts: HostLeases
    recorder: OutcomeRecorder


def assemble_parts(shift: Shift, lease: LeaseThread, grants: ShiftGrants, stop: Stop) -> ShiftParts:
    """stop: called with the reason if the shift cannot fetch, whereupon its run is paused."""
    run = shift.process.run
    memory, browsers, reading = MemoryStage(grants), _browser_stage(shift, grants), ShiftReading()
    archive = ArchiveStage(shift, grants, user_agent=identity().user_agent)
    port = FetchThreadPort(run.pk, lease, archive)
    _require_packages(run, stop)
    context = make_context(shift, grants, memory.budget, _fetching(run, stop), port, reading)
    if run.crawl.order.rendering.may_render:
        context = replace(context, rendering=_page_rendering(run, browsers))
    bench = Workbench()
    threads = FetchThreadPool(bench, context)
    hosts = HostLeases(
        shift, context, bench, dns_slots=lambda: grants.held["dns_slots"] - port.names_at_work
    )
    use = ResourceUse(
        threads.board,
        context.client.bandwidth,
        memory.budget,
        look_ups=lambda: port.names_at_work + hosts.names.under_way(),
        has_archive=lambda: archive.has_file,
        browsers=browsers.in_use if browsers else dict,
    )
    recorder = OutcomeRecorder(shift, context, archive, port, threads, use)
    return ShiftParts(
        shift,
        context,
        bench,
        port,
        grants,
        memory,
        browsers,
        reading,
        archive,
        threads,
        hosts,
        recorder,
    )


def _browser_stage(shift: Shift, grants: ShiftGrants) -> BrowserStage | None:
    run = shift.process.run
    rendering = run.crawl.order.rendering
    has_claim = rendering.may_render and grants.claim.get(BROWSER_PAGES)
    browser = ShiftBrowser(run.pk, shift.pk)
    return BrowserStage(grants, rendering.render_memory_mib, browser) if has_claim else None


def _page_rendering(run: Run, browsers: BrowserStage | None) -> PageRendering:
    budget, browser = (browsers.budget, browsers.browser) if browsers else (None, None)
    return PageRendering(run.crawl.order.rendering, budget, stored_renderings(run.pk), browser)


def _require_packages(run: Run, stop: Stop) -> None:
    if missing := missing_extensions_sentence(run.crawl.visit_order, run.crawl.seeds):
        pause_for_trouble(run.pk, f"Paused on {socket.gethostname()}. {missing}")
        stop("a package that it needs is not available")


def _fetching(run: Run, stop: Stop) -> FetchingPart:
    try:
        return fetching_of(run.crawl)
    except SealBroken as trouble:
        pause_for_trouble(run.pk, f"Paused because the crawl's secrets cannot be read. {trouble}")
        stop("its secrets cannot be read")
        return FetchingPart()


KIB = 1024


def bytes_per_second(politeness: PolitenessPart, grants: ShiftGrants, processes: int) -> float:
    """The download rate of one of the crawl's processes, by the units that the pool granted and its
    share of the order's own limit.
    """
    granted = float(grants.held["bandwidth"] * KIB)
    return (
        min(granted, politeness.max_kib_a_second * KIB / max(1, processes))
        if politeness.max_kib_a_second
        else granted
    )


def _topic(run: Run) -> Topic | None:
    """The topic of a focused crawl; None if the crawl has another order of visits. The run's log
    lists example pages that are missing.
    """
    if run.crawl.visit_order != Order.FOCUSED:
        return None
    lines, troubles = examples_with_texts(run.crawl.order.ordering.topic, run.crawl_id)
    for url, trouble in troubles.items():
        told = f"The topic lacks an example page. {trouble}"
        write(run.pk, told, level=Level.WARNING, url=url)
    return Topic(lines)


def make_context(
    shift: Shift,
    grants: ShiftGrants,
    budget: MemoryBudget,
    fetching: FetchingPart,
    port: ShiftPort,
    reading: DocumentReading,
) -> FetchContext:
    """The shared state of fetch threads, from the crawl's order and the shift's units."""
    run, who, now = shift.process.run, identity(), timezone.now()
    crawl, politeness = run.crawl, run.crawl.order.politeness
    pace = CrawlPace(
        crawl.delay_seconds, politeness, shared_networks(), is_exact=crawl.has_exact_order
    )
    client = Client(
        RequestPolicy(who.user_agent, fetching, Recipients(bound=origins_of_secrets(crawl))),
        Egress(dial_policy(), proxy_of(fetching.proxy), port.resolve),
        Bandwidth(bytes_per_second(politeness, grants, len(serving_process_numbers(run.pk)))),
        MOST_DOCUMENT_BYTES,
        budget,
        allowed_directories(),
        pause=pace.pause,
        lease_is_lost=port.lease_is_lost,
    )
    links = LinkJudge(
        filters_of_run(crawl, run),
        ReadingRules(
            crawl.obey_nofollow, crawl.requisites, crawl.extract, robots_token=who.product_token
        ),
        counts_links=crawl.visit_order in COUNTS_LINKS,
        ascends=crawl.order.ordering.path_ascending,
        topic=_topic(run),
        traps=TrapGate(now.year, pattern_states(run.pk)),
    )
    robots = RobotsPolicy(who.product_token, unbound_hosts(crawl, now))
    copies = CopyPolicy(crawl.order.filters.skip_copies)
    return FetchContext(
        client, links, robots, pace, port, copies=copies, archives=crawl.archive, reading=reading
    )
