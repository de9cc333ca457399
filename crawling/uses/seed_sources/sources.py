"""Create, list and remove the sources of a crawl's seeds."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.models import CrawlJob, SeedSource, SeedSourceKind
from crawling.orders.seeds import read_typed
from crawling.web.addresses import WEB, BadUrl

#: the most sources of a crawl
MOST_SOURCES = 20
#: the least minutes between two readings of a feed, and of a folder; feeds are on strangers'
#: servers
SHORTEST = {SeedSourceKind.FEED: 5, SeedSourceKind.FOLDER: 1}
LONGEST = 60 * 24 * 31


class SeedSourceFields(NamedTuple):
    kind: str
    url: str = ""
    minutes: int = 60
    resume: bool = True


def create_source(crawl: CrawlJob, fields: SeedSourceFields, *, by: User | None) -> SeedSource:
    """Add a source, which is read from now on. Raises BadOrder and WrongState."""
    checked = _checked_fields(fields)
    if checked.kind == SeedSourceKind.FOLDER:
        _make_folder(folder_of(crawl))
    try:
        with transaction.atomic():
            # the lock on the crawl keeps two simultaneous requests within the limit
            locked = CrawlJob.objects.select_for_update(no_key=True).filter(pk=crawl.pk).first()
            if locked is None:
                raise WrongState(f"{crawl.name} is being deleted.")
            if SeedSource.objects.filter(crawl=locked).count() >= MOST_SOURCES:
                raise WrongState(f"{crawl.name} has {MOST_SOURCES} sources; remove one first.")
            source = SeedSource.objects.create(crawl=locked, created_by=by, **checked._asdict())
            record_action(by, locked, f"created {source}")
    except IntegrityError as error:
        raise WrongState(f"{crawl.name} has that source already.") from error
    return source


def remove_source(crawl: CrawlJob, number: int, *, by: User | None) -> None:
    """Remove a source. Its seeds and the files of its folder stay. Raises NotFound."""
    with transaction.atomic():
        source = SeedSource.objects.filter(crawl=crawl, pk=number).first()
        if source is None:
            raise NotFound(f"Crawl {crawl.pk} has no such source {number}.")
        record_action(by, crawl, f"removed {source}")
        source.delete()


def folder_of(crawl: CrawlJob) -> Path:
    """The folder for the files of a crawl, on machines that run background jobs."""
    return Path(settings.SEED_DIR) / str(crawl.pk)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = f"the folder {folder} cannot be made: {error.strerror}; see SEED_DIR"
        raise BadOrder({"kind": told}) from error


def _checked_fields(fields: SeedSourceFields) -> SeedSourceFields:
    """The fields in their stored form. Raises BadOrder with a sentence for each field."""
    if fields.kind not in SeedSourceKind.values:
        raise BadOrder({"kind": "must be one of " + ", ".join(SeedSourceKind.values)})
    kind = SeedSourceKind(fields.kind)
    errors: dict[str, str] = {}
    url = fields.url.strip()
    if kind == SeedSourceKind.FOLDER and url:
        errors["url"] = "must be empty: the folder is that of the crawl"
    elif kind == SeedSourceKind.FEED:
        try:
            address = read_typed(url)
        except BadUrl as error:
            errors["url"] = str(error)
        else:
            url = address.url
            if address.scheme not in WEB:
                errors["url"] = "must begin with http:// or https://"
    if not SHORTEST[kind] <= fields.minutes <= LONGEST:
        errors["minutes"] = f"must be from {SHORTEST[kind]} to {LONGEST:,} for a {kind.label}"
    if errors:
        raise BadOrder(errors)
    return SeedSourceFields(kind, url, fields.minutes, fields.resume)
