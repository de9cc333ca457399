"""Links that the order or a limit of a run leaves unchecked. A list without problems says nothing
of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawling.frontier import counts_of
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES

EXTERNAL, ASSETS = "Check external links", "Fetch page assets"


@dataclass(frozen=True)
class Coverage:
    """The parts of a site whose links a run does not check."""

    #: names of fields of the order that would have images and other sites checked
    remedies: tuple[str, ...]
    #: URLs that wait though the run has ended
    queued: int
    is_stopped: bool

    @property
    def order_words(self) -> str:
        if len(self.remedies) > 1:
            return "Images and links to other sites are not checked by this crawl."
        told = {
            EXTERNAL: "Links to other sites are not checked by this crawl.",
            ASSETS: "Images are not checked by this crawl.",
        }
        return "".join(told[one] for one in self.remedies)

    @property
    def queued_words(self) -> str:
        if not self.queued:
            return ""
        one = self.queued == 1
        urls = "1 URL was" if one else f"{self.queued:,} URLs were"
        end = "before it was stopped" if self.is_stopped else "before the limit"
        return f"{urls} not fetched {end}: links to {'it' if one else 'them'} are not checked."

    @property
    def is_complete(self) -> bool:
        return not self.remedies and not self.queued


def coverage_of(run: Run) -> Coverage:
    has_ended = run.state in ENDED_STATES
    queued = counts_of([run.pk])[run.pk].queued if has_ended else 0
    return Coverage(_remedies(run.crawl), queued, run.state == "stopped")


def _remedies(crawl: CrawlJob) -> tuple[str, ...]:
    filters = crawl.order.filters
    goes_out = crawl.scope == "anywhere" or filters.off_site_hops
    is_asked = filters.check_external or goes_out
    return (*(() if is_asked else (EXTERNAL,)), *(() if crawl.requisites else (ASSETS,)))
