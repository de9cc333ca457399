"""The work of a background job, which reads a source that is due and makes its addresses seeds of
its crawl.

The job continues after a kill and may run twice, since known seeds are not added again. Foreign
documents are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F
from django.utils import timezone

from allocation.errors import AllocationError
from crawling.base.errors import BadSeeds, CrawlError
from crawling.models import CrawlJob, RunState, SeedSource, SeedSourceKind
from crawling.orders.seeds import mistakes_in_short
from crawling.runs.crawls.added_seeds import add_seeds_to_crawl
from crawling.uses.seed_sources.feed_fetch import fetch_feed
from crawling.uses.seed_sources.seed_files import SeedsUnreadable, move_to_read, waiting_files
from crawling.uses.seed_sources.sources import folder_of
from crawling.web.documents.json_feed import BadFeed

#: the most refused addresses of one document; after these, its remaining addresses are not tried
MOST_REFUSED = 100
#: the time until the next reading if this one is killed, and the longest such time; the time
#: doubles with each killed reading in a row
PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(days=1)
#: the most doublings; further ones would not make the pause longer
MOST_DOUBLINGS = 11


@dataclass
class SourceSeeds:
    added: int = 0
    #: a sentence for each address that is invalid or outside the scope
    refused: list[str] = field(default_factory=list)
    #: the number of addresses that were not tried, because too many were refused
    untried: int = 0

    @property
    def sentences(self) -> list[str]:
        more = f"{self.untried:,} more were not tried: too many were refused"
        return [*self.refused, *([more] if self.untried else [])]


class SourceReading(NamedTuple):
    """The result of reading a source: the number of seeds, the refusals, and the validators for the
    next reading.
    """

    added: int = 0
    refused: Sequence[str] = ()
    etag: str = ""
    last_modified: datetime | None = None


def due_sources() -> list[int]:
    due = SeedSource.objects.filter(next_at__lte=timezone.now(), crawl__removal_asked_at=None)
    return list(due.order_by("next_at").values_list("pk", flat=True))


def read_source(source_id: int) -> None:
    """Read a source, if it still exists and is due."""
    source = SeedSource.objects.select_related("crawl").filter(pk=source_id).first()
    if source is None or source.next_at > timezone.now():
        return
    _store_next_time(source)
    read = _read_folder if source.kind == SeedSourceKind.FOLDER else _read_feed
    found, trouble = SourceReading(etag=source.etag, last_modified=source.last_modified), ""
    try:
        found = read(source)
        if found.refused:
            trouble = f"{len(found.refused):,} refused: {mistakes_in_short(found.refused)}"
    except (CrawlError, AllocationError) as error:
        trouble = str(error)
    now = timezone.now()
    SeedSource.objects.filter(pk=source.pk).update(
        read_at=now,
        next_at=now + timedelta(minutes=source.minutes),
        unended=0,
        added=F("added") + found.added,
        etag=found.etag,
        last_modified=found.last_modified,
        note=trouble[:2000],
    )


def _store_next_time(source: SeedSource) -> None:
    """Set a later time for the next reading, which counts if this reading is killed."""
    before = source.unended
    values: dict[str, Any] = {
        "unended": min(before + 1, MOST_DOUBLINGS),
        "next_at": timezone.now() + min(PAUSE * 2**before, LONGEST_PAUSE),
    }
    if before:
        values["note"] = (
            "The latest reading was killed before its end. The pause doubles each time, up to a "
            "day."
        )
    SeedSource.objects.filter(pk=source.pk).update(**values)


def _read_folder(source: SeedSource) -> SourceReading:
    """Read the waiting files of a folder, and add their addresses as seeds. Return the number of
    new seeds, and the refusals.
    """
    added, refused = 0, list[str]()
    for file in waiting_files(folder_of(source.crawl)):
        additions = SourceSeeds()
        try:
            _add_seeds(source, file.addresses(), additions)
        except BadFeed as error:
            additions.refused.append(f"{file.name}: {error}")
        added += additions.added
        refused += additions.sentences
        try:
            move_to_read(file, additions.sentences)
        except SeedsUnreadable as error:
            refused.append(str(error))
    return SourceReading(added, refused)


def _read_feed(source: SeedSource) -> SourceReading:
    """Read a feed. An empty result if it has not changed. Raises SeedsUnreadable or NoUnits."""
    answer = fetch_feed(source)
    if answer is None:
        return SourceReading(etag=source.etag, last_modified=source.last_modified)
    additions = SourceSeeds()
    _add_seeds(source, answer.entries, additions)
    if additions.sentences:
        # the whole source is requested next time, since refused entries may be valid then
        return SourceReading(additions.added, additions.sentences)
    return SourceReading(additions.added, [], answer.etag, answer.last_modified)


def _add_seeds(source: SeedSource, texts: Sequence[str], additions: SourceSeeds) -> None:
    """Add the valid seeds to the crawl, and note in `additions` how many are new and why others are
    refused.

    All are added at once. If there are mistakes, each half is tried separately, so that one mistake
    costs no other address.
    """
    if not texts:
        return
    if len(additions.refused) >= MOST_REFUSED:
        additions.untried += len(texts)
        return
    crawl = CrawlJob.objects.get(pk=source.crawl_id)
    latest = crawl.runs.first()
    # the run does not continue if an operator stopped it, or a fault ended it
    resume = source.resume and latest is not None and latest.state == RunState.FINISHED
    try:
        result = add_seeds_to_crawl(crawl, texts, by=source.created_by, resume=resume)
    except BadSeeds as error:
        if len(texts) == 1:
            outside = [f"{url} is outside the scope" for url in error.outside]
            additions.refused += error.mistakes or outside
            return
        middle = len(texts) // 2
        _add_seeds(source, texts[:middle], additions)
        _add_seeds(source, texts[middle:], additions)
    else:
        additions.added += len(result.added)
