"""A background job: reads a source that is due, and makes what it names seeds of its crawl.

It continues after a kill and can run twice: seeds that are known are not added again. Foreign
documents are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from django.db import connections
from django.db.models import F
from django.utils import timezone

from allocation.errors import AllocationError
from crawling.crawls.added_seeds import add_to_seeds
from crawling.crawls.fetching_section import fetching_of
from crawling.dryrun.seed_fetches import KIB_PER_SECOND, MIB_EACH, fetch_seeds
from crawling.errors import BadSeeds, CrawlError
from crawling.models import CrawlJob, RunState, SeedSource, SeedSourceKind
from crawling.orders.order import read_order
from crawling.orders.seeds import in_short
from crawling.rq_jobs import SEED_SOURCE
from crawling.runs.held_units import finish_moment, held_units
from crawling.seed_sources.seed_files import SeedsUnreadable, put_away, waiting_files
from crawling.seed_sources.sources import folder_of
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.json_feed import BadFeed, entries
from crawling.web.statuses import succeeded

#: for the grant of a fetch
WAIT_SECONDS = 20.0
#: addresses of one document; those behind them are not tried
MOST_REFUSED = 100


@dataclass
class SourceSeeds:
    """What became of addresses of a source."""

    added: int = 0
    #: a sentence for each address that is none, or lies outside the scope
    refused: list[str] = field(default_factory=list)
    #: addresses behind too many that were refused
    untried: int = 0

    @property
    def sentences(self) -> list[str]:
        more = f"{self.untried:,} more were not tried: too many were refused"
        return [*self.refused, *([more] if self.untried else [])]


def due_sources() -> list[int]:
    """The ids of sources that are due."""
    due = SeedSource.objects.filter(next_at__lte=timezone.now(), crawl__removal_asked_at=None)
    return list(due.order_by("next_at").values_list("pk", flat=True))


def read_due(source_id: int) -> None:
    """What RQ runs."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    with SEED_SOURCE.alone(source_id) as is_alone:
        if is_alone:
            read_source(source_id)


def read_source(source_id: int) -> None:
    """Read it, if it is still there and due."""
    source = SeedSource.objects.select_related("crawl").filter(pk=source_id).first()
    if source is None or source.next_at > timezone.now():
        return
    read = _read_folder if source.kind == SeedSourceKind.FOLDER else _read_feed
    added, trouble = 0, ""
    try:
        added, refused = read(source)
        trouble = f"{len(refused):,} refused: {in_short(refused)}" if refused else ""
    except (CrawlError, AllocationError) as error:
        trouble = str(error)
    now = timezone.now()
    SeedSource.objects.filter(pk=source.pk).update(
        read_at=now,
        next_at=now + timedelta(minutes=source.minutes),
        added=F("added") + added,
        note=trouble[:2000],
    )


def _read_folder(source: SeedSource) -> tuple[int, list[str]]:
    """How many seeds all waiting files have added, and what was refused."""
    added, refused = 0, []
    for file in waiting_files(folder_of(source.crawl)):
        additions = SourceSeeds()
        try:
            _add(source, file.addresses(), additions)
        except BadFeed as error:
            additions.refused.append(f"{file.name}: {error}")
        added += additions.added
        refused += additions.sentences
        try:
            put_away(file, additions.sentences)
        except SeedsUnreadable as error:
            refused.append(str(error))
    return added, refused


def _read_feed(source: SeedSource) -> tuple[int, list[str]]:
    """The same of a feed, which is fetched like any document, with a grant.

    Raises SeedsUnreadable, NoUnits.
    """
    crawl = source.crawl
    # Of the crawl's order only what is no secret: the feed may be another's.
    fields = {
        "name": f"feed of {crawl.pk}",
        "seeds": [source.url],
        "proxy": fetching_of(crawl).proxy,
        "delay_seconds": crawl.delay_seconds,
    }
    order, mistakes = read_order(fields)
    if order is None:
        raise SeedsUnreadable("; ".join(f"{name} {told}" for name, told in mistakes.items()))
    found: list[list[str] | BadFeed] = []
    wanted = {"fetch_slots": 1, "dns_slots": 1, "memory": MIB_EACH, "bandwidth": KIB_PER_SECOND}
    reference = f"seeds-{source.pk}"
    finish_moment(reference)  # of a job that was killed
    label = f"seed feed {source.pk}"
    moment = held_units(wanted, label=label, reference=reference, wait_seconds=WAIT_SECONDS)
    with moment as (units, lost):
        take = partial(_take, found)
        fetched = fetch_seeds(order, units, lost, with_document=take)[0]
    if not succeeded(fetched.status):
        raise SeedsUnreadable(fetched.note or f"{fetched.sentence.rstrip('.')}.")
    if fetched.final_url and fetched.final_url != source.url:
        raise SeedsUnreadable(
            f"It leads to {fetched.final_url}; make that the address of the feed."
        )
    entries_found = found[0] if found else []
    if isinstance(entries_found, BadFeed):
        raise SeedsUnreadable(f"No seeds: {entries_found}.")
    additions = SourceSeeds()
    _add(source, entries_found, additions)
    return additions.added, additions.sentences


def _take(found: list[list[str] | BadFeed], document: DocumentSource) -> None:
    try:
        found.append(entries(document))
    except BadFeed as error:  # of a redirect nothing else is expected
        found.append(error)


def _add(source: SeedSource, texts: Sequence[str], additions: SourceSeeds) -> None:
    """Add those that are in order, and keep why others are not.

    All at once; with mistakes each half of them, so that one mistake costs no other address.
    """
    if not texts:
        return
    if len(additions.refused) >= MOST_REFUSED:
        additions.untried += len(texts)
        return
    crawl = CrawlJob.objects.get(pk=source.crawl_id)
    latest = crawl.runs.first()
    # An operator who stopped it, or the fault that ended it, has the last word.
    resume = source.resume and latest is not None and latest.state == RunState.FINISHED
    try:
        result = add_to_seeds(crawl, texts, by=source.created_by, resume=resume)
    except BadSeeds as error:
        if len(texts) == 1:
            additions.refused += error.mistakes or [f"{texts[0]} is outside the scope"]
            return
        middle = len(texts) // 2
        _add(source, texts[:middle], additions)
        _add(source, texts[middle:], additions)
    else:
        additions.added += len(result.added)
