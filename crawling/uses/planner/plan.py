"""The resources that a crawl of a given size needs: pages a second, workers, machines, storage, DNS
look-ups, memory and cost. Pure arithmetic (SEEDS W16).

The defaults are those of the source document: 15 billion pages in four weeks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from crawling.uses.planner.planned_crawl import PlannedCrawl

DAY_SECONDS = 86_400
MONTH_DAYS = 30
#: the bytes of the checksum of a URL or a document
CHECKSUM_BYTES = 8
#: the memory in the DNS cache for a name in use (measured by `python -m benchmarks.dnscache.costs`)
DNS_NAME_BYTES = 440
#: the MiB of a browser without pages, and of its driver (docs/decisions/0187)
IDLE_BROWSER_MEBIBYTES = 175 + 130
ERRATUM = (
    "The source document plans 2 bytes for the checksum of a URL, 30 GB in all. 2 bytes tell "
    "65,536 URLs apart, and there are 15 billion. 8 bytes take 120 GB, as for documents. It rounds "
    "1.51 PB to 1.5 PB before it divides by 70 %, and so has 2.14 PB where exact figures give "
    "2.15 PB."
)

#: units that get a decimal prefix, with the words behind the number
PREFIXED = {"bytes": "B", "bits/s": "bit/s"}
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")


@dataclass(frozen=True)
class PlannedNeed:
    key: str
    label: str
    value: float
    #: `pages/s`, `bytes`, `bits/s`, `lookups/s`, or empty for a count or a price
    unit: str
    #: the calculation of the amount, in words
    formula: str

    @property
    def amount(self) -> str:
        """The amount in decimal units, for readers: `1.51 PB`, `6,200 pages/s`."""
        if self.unit in PREFIXED:
            value, place = self.value, 0
            while value >= 999.5 and place < len(PREFIXES) - 1:
                value, place = value / 1000, place + 1
            return f"{value:.3g} {PREFIXES[place]}{PREFIXED[self.unit]}"
        digits = 0 if self.value >= 100 or self.value == int(self.value) else 2
        return f"{self.value:,.{digits}f} {self.unit}".strip()


@dataclass(frozen=True)
class CapacityPlan:
    needs: tuple[PlannedNeed, ...]
    obstacle: str = ""

    def value(self, key: str) -> float:
        """The amount of a figure. Raises KeyError if no plan has such a figure."""
        return {need.key: need.value for need in self.needs}[key]


def plan_capacity(crawl: PlannedCrawl) -> CapacityPlan:
    """The figures of the source document (W16), and the machines that they require."""
    seconds = crawl.days * DAY_SECONDS
    rate = crawl.pages / seconds
    workers = ceil(rate / crawl.worker_pages_per_second)
    rendering = _rendering(crawl, rate)
    machines, machines_how = _machines(crawl, workers, rendering)
    disk = _stored_bytes(crawl) / (crawl.fill_percent / 100)
    needs = (
        PlannedNeed("pages_per_second", "Pages/s", rate, "pages/s", "pages ÷ seconds"),
        PlannedNeed(
            "bandwidth",
            "Bandwidth",
            rate * crawl.page_kilobytes * 8000,
            "bits/s",
            "pages/s x page size",
        ),
        PlannedNeed("workers", "Workers", workers, "", "pages/s ÷ pages/s of a worker"),
        *_needs_of_rendering(crawl, rendering),
        PlannedNeed("machines", "Machines", machines, "", machines_how),
        PlannedNeed(
            "memory",
            "Memory of all workers",
            workers * crawl.worker_mebibytes * 1024**2,
            "bytes",
            "workers x memory of a worker",
        ),
        *_storage(crawl, disk),
        *_needs_for_names(crawl, seconds),
        *_politeness(crawl),
        *_cost(crawl, machines, disk),
    )
    return CapacityPlan(needs, _politeness_obstacle(crawl, rate))


@dataclass(frozen=True)
class BrowserNeeds:
    """The needs of the rendered pages of a plan, all 0 if none is rendered."""

    rate: float
    #: open browser pages, and the workers whose browsers have them
    browser_pages: int
    workers: int
    #: busy cores
    cores: float


def _rendering(crawl: PlannedCrawl, rate: float) -> BrowserNeeds:
    rendered = rate * crawl.rendered_percent / 100
    browser_pages = ceil(rendered * crawl.rendered_page_seconds)
    workers = ceil(browser_pages / crawl.worker_browser_pages)
    return BrowserNeeds(rendered, browser_pages, workers, rendered * crawl.rendered_page_processor)


def _machines(crawl: PlannedCrawl, workers: int, rendering: BrowserNeeds) -> tuple[int, str]:
    """The number of machines, and its calculation by what binds: the cores, or the workers with a
    browser. A worker takes about one core.
    """
    if rendering.workers > workers + rendering.cores:
        how = "workers with a browser ÷ workers per machine: browser pages bind"
        return ceil(rendering.workers / crawl.machine_workers), how
    if rendering.workers:
        how = "(workers + cores for rendering) ÷ workers per machine: the processor binds"
        return ceil((workers + rendering.cores) / crawl.machine_workers), how
    return ceil(workers / crawl.machine_workers), "workers ÷ workers per machine"


def _needs_of_rendering(crawl: PlannedCrawl, rendering: BrowserNeeds) -> Iterator[PlannedNeed]:
    if not rendering.workers:
        return
    yield PlannedNeed(
        "rendered_pages_per_second",
        "Rendered pages/s",
        rendering.rate,
        "pages/s",
        "pages/s x rendered pages",
    )
    yield PlannedNeed(
        "browser_pages",
        "Browser pages",
        rendering.browser_pages,
        "",
        "rendered pages/s x time of a rendered page",
    )
    yield PlannedNeed(
        "browser_workers",
        "Workers with a browser",
        rendering.workers,
        "",
        "browser pages ÷ browser pages of a worker",
    )
    yield PlannedNeed(
        "rendering_cores",
        "Cores for rendering",
        rendering.cores,
        "",
        "rendered pages/s x processor time of a rendered page",
    )
    page_mebibytes = rendering.browser_pages * crawl.rendered_page_mebibytes
    yield PlannedNeed(
        "browser_memory",
        "Memory of browsers, at most",
        (page_mebibytes + rendering.workers * IDLE_BROWSER_MEBIBYTES) * 1024**2,
        "bytes",
        f"browser pages x memory of one + workers with a browser x {IDLE_BROWSER_MEBIBYTES} MiB",
    )


def _stored_bytes(crawl: PlannedCrawl) -> float:
    page = crawl.page_kilobytes * 1000 * crawl.stored_percent / 100
    rendered = crawl.rendered_percent / 100 * crawl.rendered_page_kilobytes * 1000
    return crawl.pages * (page + crawl.metadata_bytes + rendered)


def _storage(crawl: PlannedCrawl, disk: float) -> Iterator[PlannedNeed]:
    stored, checksums = _stored_bytes(crawl), crawl.pages * CHECKSUM_BYTES
    yield PlannedNeed("stored", "Pages and metadata", stored, "bytes", "pages x size in archive")
    yield PlannedNeed("disk", "Disk space", disk, "bytes", "pages and metadata ÷ disk fill")
    how = f"pages x {CHECKSUM_BYTES} bytes"
    yield PlannedNeed("url_checksums", "Checksums of URLs", checksums, "bytes", how)
    yield PlannedNeed("document_checksums", "Checksums of documents", checksums, "bytes", how)


def _needs_for_names(crawl: PlannedCrawl, seconds: float) -> Iterator[PlannedNeed]:
    yield PlannedNeed(
        "dns_lookups",
        "DNS lookups, at least",
        crawl.hosts / seconds,
        "lookups/s",
        "hosts ÷ seconds, each name once",
    )
    yield PlannedNeed(
        "dns_memory",
        "DNS cache",
        crawl.hosts * DNS_NAME_BYTES,
        "bytes",
        f"hosts x {DNS_NAME_BYTES} bytes",
    )


def _politeness(crawl: PlannedCrawl) -> Iterator[PlannedNeed]:
    if crawl.delay_seconds:
        yield PlannedNeed(
            "polite_pages_per_second",
            "Pages/s that the hosts allow",
            crawl.hosts / crawl.delay_seconds,
            "pages/s",
            "hosts ÷ delay per host",
        )


def _cost(crawl: PlannedCrawl, machines: int, disk: float) -> Iterator[PlannedNeed]:
    computing = machines * crawl.days * 24 * crawl.machine_hour_price
    cost = computing + disk / 1e12 * crawl.terabyte_month_price * crawl.days / MONTH_DAYS
    if cost:
        how = "machines x hours x price + TB x months x price"
        yield PlannedNeed("cost", "Cost", cost, "", how)
        a_million = cost / crawl.pages * 1e6
        how = "cost ÷ millions of pages"
        yield PlannedNeed("cost_per_million", "Cost per million pages", a_million, "", how)


def _politeness_obstacle(crawl: PlannedCrawl, rate: float) -> str:
    if not crawl.delay_seconds or rate <= crawl.hosts / crawl.delay_seconds:
        return ""
    days = crawl.pages / crawl.hosts * crawl.delay_seconds / DAY_SECONDS
    hosts = ceil(rate * crawl.delay_seconds)
    return (
        f"{crawl.hosts:,} hosts with a delay of {crawl.delay_seconds:g} s take at least "
        f"{days:,.1f} days. Plan more days, a shorter delay, or at least {hosts:,} hosts."
    )
