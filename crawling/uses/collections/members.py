"""The members of a collection as rows, their sums, and the captures of an address in the
collection.

Deleted crawls and runs, and withdrawn pages, are left out until they are restored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Collection as Numbers
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any, Literal

from django.db.models import Count, Max, Min, QuerySet, Sum
from django.db.models.functions import Coalesce

from crawling.archive.captures import captures_of
from crawling.models import Page, Run
from crawling.uses.collections.models import Collection, CollectionMember
from serving.listing.columns import Column


@dataclass(frozen=True)
class MemberRow:
    id: Annotated[int, Column("of the member")]
    kind: Literal["crawl", "page"]
    name: Annotated[str, Column("of the crawl, or title of the page")]
    url: Annotated[str, Column("of the page; empty: it is a crawl")]
    crawl: int
    crawl_name: str
    run: Annotated[int | None, Column("number of the run of a page")]
    page: Annotated[int | None, Column("id of the page")]
    runs: int
    pages: Annotated[int, Column("fetched pages, of all runs")]
    bytes: Annotated[int, Column("received")]
    first: Annotated[datetime | None, Column("begin of the first run, or time of the fetch")]
    last: Annotated[datetime | None, Column("end of the last run, or time of the fetch")]
    added_at: datetime


@dataclass(frozen=True)
class CollectionFigures:
    crawls: int = 0
    runs: int = 0
    pages: Annotated[int, Column("of crawls and single; none is counted twice")] = 0
    bytes: int = 0
    first: datetime | None = None
    last: datetime | None = None


#: sort keys of members; members with equal keys are sorted by name
SORTS: Mapping[str, Callable[[MemberRow], Any]] = {
    "name": lambda row: row.name.casefold(),
    "pages": attrgetter("pages"),
    "bytes": attrgetter("bytes"),
    "first": lambda row: row.first.timestamp() if row.first else 0,
    "last": lambda row: row.last.timestamp() if row.last else 0,
    "added": attrgetter("id"),
}


def member_rows(
    collection: Collection, *, of_crawls: Numbers[int] | None = None
) -> list[MemberRow]:
    """The members, crawls first, each kind by name. of_crawls: only these crawls, and pages of
    them. Takes a fixed number of queries.
    """
    members = collection.members.filter(crawl__removal_asked_at=None).select_related("crawl")
    if of_crawls is not None:
        members = members.filter(crawl__in=of_crawls)
    rows = [
        *_crawl_rows(members.filter(page=None)),
        *_page_rows(members.filter(page__isnull=False)),
    ]
    return sorted(rows, key=lambda row: (row.kind, row.name.casefold(), row.id))


def _crawl_rows(members: QuerySet[CollectionMember]) -> list[MemberRow]:
    found = list(members)
    runs = Run.objects.filter(crawl__in=[one.crawl_id for one in found]).order_by()
    sums = runs.values("crawl").annotate(
        count=Count("pk"),
        fetched=Sum("total__fetched"),
        received=Sum("total__bytes"),
        first=Min("started_at"),
        last=Max(Coalesce("finished_at", "started_at")),
    )
    told: dict[int, dict[str, Any]] = {one["crawl"]: dict(one) for one in sums}
    return [_crawl_row(one, told.get(one.crawl_id, {})) for one in found]


def _crawl_row(member: CollectionMember, told: Mapping[str, Any]) -> MemberRow:
    """The row of a crawl. told: the sums of its runs, or {} without runs."""
    return MemberRow(
        id=member.pk,
        kind="crawl",
        name=member.crawl.name,
        url="",
        crawl=member.crawl_id,
        crawl_name=member.crawl.name,
        run=None,
        page=None,
        runs=told.get("count", 0),
        pages=told.get("fetched") or 0,
        bytes=told.get("received") or 0,
        first=told.get("first"),
        last=told.get("last"),
        added_at=member.added_at,
    )


def _page_rows(members: QuerySet[CollectionMember]) -> list[MemberRow]:
    found = list(members.filter(run__removal_asked_at=None).select_related("run"))
    stored = Page.objects.filter(pk__in=[one.page for one in found])
    names = ("pk", "title", "url__url", "bytes", "fetched_at")
    pages = {row[0]: row[1:] for row in stored.values_list(*names)}
    rows = []
    for one in found:
        if one.page is None or one.run is None or one.page not in pages:
            continue
        title, url, size, at = pages[one.page]
        rows.append(
            MemberRow(
                id=one.pk,
                kind="page",
                name=title or url,
                url=url,
                crawl=one.crawl_id,
                crawl_name=one.crawl.name,
                run=one.run.number,
                page=one.page,
                runs=1,
                pages=1,
                bytes=size,
                first=at,
                last=at,
                added_at=one.added_at,
            )
        )
    return rows


def sort_member_rows(rows: Sequence[MemberRow], sort: str) -> list[MemberRow]:
    """The rows in the order `sort`: a key of SORTS, behind a minus sign in descending order. With
    any other value crawls come before pages, each by name.
    """
    key = SORTS.get(sort.removeprefix("-"))
    return sorted(rows, key=key, reverse=sort.startswith("-")) if key else list(rows)


def figures_of(rows: Sequence[MemberRow]) -> CollectionFigures:
    whole = {row.crawl for row in rows if row.page is None}
    counted = [row for row in rows if row.page is None or row.crawl not in whole]
    return CollectionFigures(
        crawls=len(whole),
        runs=sum(row.runs for row in counted if row.page is None),
        pages=sum(row.pages for row in counted),
        bytes=sum(row.bytes for row in counted),
        first=min((row.first for row in counted if row.first), default=None),
        last=max((row.last for row in counted if row.last), default=None),
    )


def hidden_member_count(collection: Collection, rows: Sequence[MemberRow]) -> int:
    """The number of members that are deleted or withdrawn at the moment."""
    return collection.members.count() - len(rows)


def captures_of_collection(collection: Collection, url: str) -> list[Page]:
    """The captures of a canonical URL by the collection's crawls and among its pages, the latest
    first.
    """
    members = collection.members.filter(crawl__removal_asked_at=None)
    whole = set(members.filter(page=None).values_list("crawl", flat=True))
    single = dict(members.filter(page__isnull=False).values_list("page", "crawl"))
    found = captures_of(url, crawls=whole | set(single.values()))
    return [one for one in reversed(found) if one.run.crawl_id in whole or one.pk in single]
