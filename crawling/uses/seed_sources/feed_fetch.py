"""A feed that gives seeds. It is fetched like any document, with a grant, and only if it has
changed since.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import NamedTuple

from crawling.jobs.temporary_grant import release_orphaned_grant, temporary_grant
from crawling.models import SeedSource
from crawling.orders.order import CrawlOrder, read_order
from crawling.previews.seed_fetches import KIB_PER_SECOND, MIB_EACH, fetch_seeds
from crawling.runs.crawls.fetching_section import fetching_of
from crawling.uses.seed_sources.seed_files import SeedsUnreadable
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.feed import entry_urls
from crawling.web.documents.json_feed import BadFeed
from crawling.web.fetch.http import Fetched
from crawling.web.http_caching import condition_headers, read_date, read_etag
from crawling.web.statuses import NOT_MODIFIED_STATUS, is_redirect, is_success, status_sentence

#: the longest wait for the grant of a fetch
WAIT_SECONDS = 20.0


class FeedAnswer(NamedTuple):
    """A feed as received, with its validators (RFC 9110, section 8.8)."""

    #: the addresses in the feed
    entries: list[str]
    etag: str
    last_modified: datetime | None


def fetch_feed(source: SeedSource) -> FeedAnswer | None:
    """Fetch a source's feed. None if it has not changed since its validators were stored.

    Raises SeedsUnreadable or NoUnits.
    """
    order = _order_of(source)
    found: list[FeedAnswer | BadFeed] = []
    wanted = {"fetch_slots": 1, "dns_slots": 1, "memory": MIB_EACH, "bandwidth": KIB_PER_SECOND}
    reference = f"seeds-{source.pk}"
    release_orphaned_grant(reference)  # a killed job may have left its grant
    label = f"seed feed {source.pk}"
    moment = temporary_grant(wanted, label=label, reference=reference, wait_seconds=WAIT_SECONDS)
    asking, take = (
        condition_headers(source.etag, source.last_modified),
        partial(_take_answer, found, source.url),
    )
    with moment as (units, lost):
        fetched = fetch_seeds(order, units, lost, asking=asking, with_answer=take)[0]
    if fetched.status == NOT_MODIFIED_STATUS:
        return None
    if not is_success(fetched.status):
        raise SeedsUnreadable(fetched.note or f"{fetched.sentence.rstrip('.')}.")
    if fetched.final_url and fetched.final_url != source.url:
        raise SeedsUnreadable(
            f"It leads to {fetched.final_url}; make that the address of the feed."
        )
    if is_redirect(fetched.status):
        raise SeedsUnreadable("It redirects to no other address.")
    if not found and fetched.sentence != status_sentence(fetched.status):
        raise SeedsUnreadable(fetched.sentence)
    if not found:
        raise SeedsUnreadable(f"{fetched.sentence.rstrip('.')}, without a document.")
    if isinstance(found[0], BadFeed):
        raise SeedsUnreadable(f"No start URLs: {found[0]}.")
    return found[0]


def _order_of(source: SeedSource) -> CrawlOrder:
    """The crawl's order without its secrets, since the feed may be on another site. Raises
    SeedsUnreadable.
    """
    crawl = source.crawl
    fields = {
        "name": f"feed of {crawl.pk}",
        "seeds": [source.url],
        "proxy": fetching_of(crawl).proxy,
        "delay_seconds": crawl.delay_seconds,
    }
    order, mistakes = read_order(fields)
    if order is None:
        raise SeedsUnreadable("; ".join(f"{name} {told}" for name, told in mistakes.items()))
    return order


def _take_answer(found: list[FeedAnswer | BadFeed], url: str, fetched: Fetched) -> None:
    if fetched.status == NOT_MODIFIED_STATUS or is_redirect(fetched.status):
        return
    source = DocumentSource(fetched.body, url, fetched.content_type, fetched.charset)
    try:
        pages = entry_urls(source)
    except BadFeed as error:
        found.append(error)
    else:
        headers = fetched.headers
        changed_at = read_date(headers.get("Last-Modified", ""))
        found.append(FeedAnswer(pages, read_etag(headers.get("ETag", "")), changed_at))
