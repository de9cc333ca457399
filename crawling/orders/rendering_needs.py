"""The needs of the pages that an order renders, before any is fetched: speed, processor, memory and
disk, and the resource that binds.

The constants are measured by `python -m benchmarks.crawling.rendered` (`docs/figures/0188.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crawling.orders.claims import BROWSER_MEMORY, BROWSER_PAGES
from crawling.orders.estimates import Figure, pages_of_a_host, seed_hosts, time_in_words
from crawling.orders.order import CrawlOrder

#: the time for which a rendered page has a browser page, if no other page is rendered
PAGE_SECONDS = 0.75
#: the seconds that it takes of a core: Chromium, its driver and program, the work session and
#: PostgreSQL
PROCESSOR_SECONDS = 0.2
#: the kilobytes that its screenshot, thumbnail, document and text take in the archive,
#: for pages of manuals
ARCHIVED_KILOBYTES = 90


class RenderedEarlier(NamedTuple):
    """The latest run that had start URLs of the order and rendered pages."""

    crawl: str
    #: those of the run that a browser could have rendered
    pages: int
    #: those of them that needed a browser
    needed: int


class Bound(NamedTuple):
    """The most pages a second that a resource allows."""

    rate: float
    #: the resource and its amount, in words
    words: str


class RenderingNeeds(NamedTuple):
    bound: Bound
    #: the share of the order's pages that is rendered; None if it is not known
    share: float | None
    #: the source of the share, in words
    source: str
    #: the pages that are rendered; None if their number is not known
    pages: int | None
    #: the most memory of a page
    mebibytes: int

    @property
    def seconds(self) -> float | None:
        """The least time for all pages."""
        return None if self.pages is None else self.pages / self.bound.rate


def rendering_needs(
    order: CrawlOrder, claim: Mapping[str, int], cores: int, earlier: RenderedEarlier | None
) -> RenderingNeeds | None:
    """None if the order renders no page, or no browser is claimed for it.

    claim: of each of the crawl's processes, by class. cores: of a worker's machine. earlier: None
    if there was no such run.
    """
    if not order.may_render or not claim.get(BROWSER_PAGES):
        return None
    bound = min(_rate_bounds(order, claim, cores), key=lambda one: one.rate)
    share, source = _rendered_share(order, earlier)
    most = [order.max_pages, _pages_of_all_hosts(order)]
    whole = min(filter(None, most), default=None)
    pages = None if whole is None or share is None else round(whole * share)
    if order.render_pages is not None:
        pages = order.render_pages if pages is None else min(pages, order.render_pages)
    return RenderingNeeds(bound, share, source, pages, order.render_memory_mib)


def _rate_bounds(order: CrawlOrder, claim: Mapping[str, int], cores: int) -> list[Bound]:
    each, hosts, processes = order.render_memory_mib, seed_hosts(order), max(1, order.processes)
    pages, memory, slots = (
        processes * claim.get(key, 0) for key in (BROWSER_PAGES, BROWSER_MEMORY, "fetch_slots")
    )
    adaptive = min(30.0, order.delay_factor * PAGE_SECONDS)
    rest = max(order.delay_seconds, adaptive) if order.delay_seconds else 0.0
    delay = f" with a delay of {order.delay_seconds:g} s" if order.delay_seconds else ""
    return [
        Bound(pages / PAGE_SECONDS, f"browsers: {pages:,} open page{'s' * (pages != 1)}"),
        Bound(
            max(1, memory // each) / PAGE_SECONDS,
            f"browser memory: {memory:,} MiB for pages of {each:,} MiB",
        ),
        Bound(slots / PAGE_SECONDS, f"fetch slots: {slots:,}, one for each page"),
        Bound(cores / PROCESSOR_SECONDS, f"the processor: {cores:,} core{'s' * (cores != 1)}"),
        Bound(
            hosts / (PAGE_SECONDS + rest),
            f"politeness: one page at a time on {hosts:,} host{'s' * (hosts != 1)}{delay}",
        ),
    ]


def _pages_of_all_hosts(order: CrawlOrder) -> int | None:
    hosts = seed_hosts(order)
    each = pages_of_a_host(order, hosts)
    return None if each is None else each * hosts


def _rendered_share(order: CrawlOrder, earlier: RenderedEarlier | None) -> tuple[float | None, str]:
    if order.render == "always" and not order.render_rules:
        return 1.0, "every HTML page"
    if earlier is None or not earlier.pages:
        return None, "no earlier run of these start URLs has rendered pages"
    source = f"{earlier.needed:,} of {earlier.pages:,} pages in the latest run of {earlier.crawl}"
    return earlier.needed / earlier.pages, source


def rendering_figures(needs: RenderingNeeds | None) -> list[Figure]:
    if needs is None:
        return []
    share = "unknown" if needs.share is None else f"{100 * needs.share:.0f} %"
    return [
        Figure("Rendered pages per second", f"{needs.bound.rate:.2g}", _bound_in_words(needs)),
        Figure(
            "A rendered page takes", f"{PROCESSOR_SECONDS:g} s of a core", _size_in_words(needs)
        ),
        Figure("Pages to render", share, _pages_in_words(needs)),
    ]


def rendering_sentences(needs: RenderingNeeds | None) -> list[str]:
    """The figures in sentences."""
    if needs is None:
        return []
    share = (
        "How many pages need a browser is unknown"
        if needs.share is None
        else f"A browser renders {100 * needs.share:.0f} % of the pages"
    )
    return [
        f"At most {needs.bound.rate:.2g} pages a second are rendered, {_bound_in_words(needs)}.",
        f"A rendered page takes {PROCESSOR_SECONDS:g} s of a core, {_size_in_words(needs)}.",
        f"{share}: {_pages_in_words(needs)}.",
    ]


def _bound_in_words(needs: RenderingNeeds) -> str:
    return f"bound by {needs.bound.words}"


def _size_in_words(needs: RenderingNeeds) -> str:
    return (
        f"up to {needs.mebibytes:,} MiB of memory, and about {ARCHIVED_KILOBYTES} KB of the archive"
    )


def _pages_in_words(needs: RenderingNeeds) -> str:
    if needs.pages is None or needs.seconds is None:
        return needs.source
    megabytes = needs.pages * ARCHIVED_KILOBYTES / 1000
    disk = f"{megabytes:,.{0 if megabytes >= 10 else 1}f}"
    return (
        f"{needs.source}; {needs.pages:,} pages take at least {time_in_words(needs.seconds)}, "
        f"{time_in_words(needs.pages * PROCESSOR_SECONDS)} of a core and {disk} MB of the archive"
    )
