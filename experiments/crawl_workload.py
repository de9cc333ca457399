"""The claims of an experiment's crawls, which run in shifts, and the contents of each site.

Pure: the same seed gives the same crawls for every policy.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

#: the number of workers that the experiment starts, and so of shifts at work at the same time
WORKERS = 3
#: the number of crawls that run or wait at the same time; the next one begins when one has ended
AT_A_TIME = 5
#: MiB that the program that reads a PDF needs; a shift asks for them when it has fetched one
PDF_MEMORY = 64
LEAST_THREADS, MOST_THREADS = 2, 4
LEAST_PAGES, MOST_PAGES = 4, 8
MOST_PDFS = 2
#: the bandwidth of each crawl, in KiB/s: more than its site sends
BANDWIDTH = 1024


@dataclass(frozen=True)
class PlannedSite:
    number: int
    threads: int
    pages: int
    #: the numbers of the pages that are PDF files: in the latter half, so that a crawl works for a
    #: while before it asks for memory
    pdfs: frozenset[int]

    @property
    def claim(self) -> dict[str, int]:
        """The maximum of each class; a shift begins with 1 MiB of memory for each fetch thread."""
        return {
            "worker": 1,
            "fetch_slots": self.threads,
            "bandwidth": BANDWIDTH,
            "memory": self.threads + PDF_MEMORY,
            "dns_slots": 1,
            "archive_writers": 1,
        }


@dataclass(frozen=True)
class CrawlWorkload:
    """The crawls of an experiment in the order of their starts, and the units that they share, by
    class.
    """

    capacity: Mapping[str, int]
    sites: tuple[PlannedSite, ...]


def plan_crawls(*, crawls: int, seed: int) -> CrawlWorkload:
    """Draw the crawls.

    The memory suffices for any two of them and one PDF. Three that request a PDF's memory at the
    same time can deadlock.
    """
    draw = random.Random(seed)  # noqa: S311 - repeatable on purpose
    capacity = {
        "worker": WORKERS,
        "fetch_slots": WORKERS * MOST_THREADS,
        "bandwidth": WORKERS * BANDWIDTH,
        "memory": PDF_MEMORY + 2 * MOST_THREADS,
        "dns_slots": WORKERS,
        "archive_writers": WORKERS - 1,
    }
    return CrawlWorkload(
        capacity, tuple(_planned_site(draw, number) for number in range(1, crawls + 1))
    )


def _planned_site(draw: random.Random, number: int) -> PlannedSite:
    pages = draw.randint(LEAST_PAGES, MOST_PAGES)
    pdfs = draw.sample(range(pages // 2 + 1, pages + 1), draw.randint(1, MOST_PDFS))
    return PlannedSite(number, draw.randint(LEAST_THREADS, MOST_THREADS), pages, frozenset(pdfs))
