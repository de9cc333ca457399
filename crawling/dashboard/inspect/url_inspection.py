"""All that is known of an address: its spelling, its host's name, its fetches, and what each crawl
says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawling.dashboard.inspect.url_decision import UrlDecision, why
from crawling.dashboard.inspect.url_history import history_of, referrers_of
from crawling.models import CrawlJob, Url
from crawling.web.addresses import dns_name, read_address
from dnscache.models import DnsEntry

#: runs whose fetches are shown
MOST_RUNS = 20


@dataclass(frozen=True, slots=True)
class UrlOccurrence:
    """What became of the address in one run, and the page that it was found on."""

    row: Url
    #: the page's URL; empty for a seed
    referrer: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a URL."""

    url: str
    #: what DNS is asked for; empty if DNS need not be asked
    name: str
    #: the last answer of DNS
    entry: DnsEntry | None
    answers: Sequence[UrlDecision]
    history: Sequence[UrlOccurrence]
    more_runs: bool

    @property
    def is_pending(self) -> bool:
        """Whether a background job adds to it in a moment."""
        return any(answer.is_pending for answer in self.answers)


def inspect(text: str, *, crawl: CrawlJob | None = None) -> Inspection:
    """Look at an address in any spelling; crawl: only what it says. Raises BadUrl."""
    address = read_address(text)
    name = dns_name(address.host_key)
    _, rows, older = history_of(text, crawl=crawl, limit=MOST_RUNS)
    referrers = referrers_of(rows)
    return Inspection(
        url=address.url,
        name=name,
        entry=DnsEntry.objects.filter(name=name).first() if name else None,
        answers=why(text, crawl=crawl)[1],
        history=[UrlOccurrence(row, referrers.get(row.pk, "")) for row in rows],
        more_runs=older is not None,
    )
