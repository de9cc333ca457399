"""Duplicate pages of a run, as a page and as files: copies, near copies, and pages that name
another address as their own. Each page of a list takes one query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from django.db.models import TextChoices
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from crawling.base.errors import CrawlError
from crawling.base.timed import time_limit
from crawling.dashboard.base.requests import asked_number, of_run
from crawling.models import Run
from crawling.web.simhash import NEAR_BITS
from serving.access import AuthenticatedRequest
from serving.downloads import Download, row_file, send
from serving.list_choices import choices_of
from serving.listing.columns import Column
from serving.paging import cut_to_limit

#: the time limit of a query; a run with many near copies needs many comparisons
LONGEST_SECONDS = 10
SIMHASH_BITS = 64
#: the number of rows that are read at a time for a file
CHUNK = 1000


class DuplicateSearchTookTooLong(CrawlError):
    """Comparing the run's pages took longer than 10 seconds and was cancelled; ask for fewer rows
    at a time.
    """


class SimilarityKind(TextChoices):
    """Kinds of duplicates."""

    EXACT = "exact", "Exact duplicates"
    NEAR = "near", "Near duplicates"
    CANONICAL = "canonical", "Other canonical URL"


@dataclass(frozen=True)
class SimilarPage:
    """A page, and the first page that is similar to it."""

    id: Annotated[int, Column("of the page, as in the list of changes")]
    url: str
    of_id: Annotated[int | None, Column("null for a canonical URL")]
    of: str
    kind: SimilarityKind
    distance: Annotated[int, Column("differing bits of the simhashes")]
    title: str
    bytes: int

    @property
    def equal_bits(self) -> int:
        return SIMHASH_BITS - self.distance


EXACT = """
SELECT p.url_id, u.url, o.id, o.url, 0, p.title, p.bytes FROM crawling_page p
JOIN crawling_url u ON u.id = p.url_id JOIN crawling_url o ON o.id = p.duplicate_of
WHERE p.run_id = %(run)s AND p.duplicate_of IS NOT NULL AND p.url_id > %(after)s ORDER BY p.url_id
LIMIT %(limit)s
"""

#: The place where the list continues. At first it is the run's seeds; without this condition
#: PostgreSQL would read the primary key from the first page of all runs.
BEHIND = """p.url_id > %(after)s AND p.url_id >= coalesce(
    (SELECT min(id) FROM crawling_url WHERE run_id = %(run)s AND depth = 0), 0)"""
CANONICAL = f"""
SELECT p.url_id, u.url, NULL, p.canonical, 0, p.title, p.bytes FROM crawling_page p
JOIN crawling_url u ON u.id = p.url_id
WHERE p.run_id = %(run)s AND p.canonical NOT IN ('', u.url) AND {BEHIND}
ORDER BY p.url_id LIMIT %(limit)s
"""  # noqa: S608  # BEHIND is a constant

BAND = """SELECT url_id, simhash FROM crawling_page
WHERE run_id = p.run_id AND simhash IS NOT NULL AND duplicate_of IS NULL
    AND (simhash >> {0}) & 65535 = (p.simhash >> {0}) & 65535"""

#: two simhashes that differ in at most three bits have one of four bands in common; each band has
#: an index
NEAR = f"""
SELECT found.url_id, u.url, o.id, o.url, distance, title, bytes FROM (
SELECT p.url_id, p.title, p.bytes, other.url_id AS other, other.distance FROM crawling_page p
CROSS JOIN LATERAL (
    SELECT url_id, bit_count((band.simhash # p.simhash)::bit(64)) AS distance
    FROM ({" UNION ".join(BAND.format(16 * n) for n in range(4))}) band
    WHERE url_id < p.url_id AND bit_count((band.simhash # p.simhash)::bit(64)) <= %(most)s
    ORDER BY url_id LIMIT 1
) other
WHERE p.run_id = %(run)s AND p.simhash IS NOT NULL AND p.duplicate_of IS NULL AND {BEHIND}
ORDER BY p.url_id LIMIT %(limit)s
) found JOIN crawling_url u ON u.id = found.url_id JOIN crawling_url o ON o.id = found.other
ORDER BY found.url_id
"""  # noqa: S608  # BAND and BEHIND are constants

QUERIES = {
    SimilarityKind.EXACT: EXACT,
    SimilarityKind.NEAR: NEAR,
    SimilarityKind.CANONICAL: CANONICAL,
}


def list_alike(
    run: Run, kind: SimilarityKind, *, after: int = 0, most: int
) -> tuple[list[SimilarPage], int | None]:
    """Pages in the order in which they were found, each with the first page similar to it.

    Raises DuplicateSearchTookTooLong.
    """
    values = {"run": run.pk, "after": after, "limit": most + 1, "most": NEAR_BITS}
    with time_limit(LONGEST_SECONDS, DuplicateSearchTookTooLong) as cursor:
        cursor.execute(QUERIES[kind], values)
        rows = cursor.fetchall()
    rows, following = cut_to_limit(rows, most, lambda row: row[0])
    items = [
        SimilarPage(pk, url, of_id, of, kind, distance, title, size)
        for pk, url, of_id, of, distance, title, size in rows
    ]
    return items, following


def duplicates_file(run: Run, kind: SimilarityKind, ending: str) -> Download:
    return row_file(f"crawl-{run.crawl_id}-run-{run.number}-{kind}", ending, _rows(run, kind))


def _rows(run: Run, kind: SimilarityKind) -> Iterator[dict[str, Any]]:
    after: int | None = 0
    while after is not None:
        found, after = list_alike(run, kind, after=after, most=CHUNK)
        yield from map(asdict, found)


#: the reason why a crawl that was never started has no duplicates
HAS_NO_PAGES = "it has no pages yet"
ROWS = 50
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines"}


@of_run(HAS_NO_PAGES)
def show(request: AuthenticatedRequest, run: Run) -> HttpResponse:
    """List the duplicates of `?kind=`, after the page `?after=`."""
    kind = _kind(request)
    after = asked_number(request, "after")
    here: dict[str, Any] = {
        "crawl": run.crawl,
        "run": run,
        "kinds": SimilarityKind,
        "kind": kind,
        "after": after,
        "endings": ENDINGS,
    }
    try:
        rows, following = list_alike(
            run, kind, after=after or 0, most=choices_of(request).most(ROWS)
        )
    except DuplicateSearchTookTooLong as trouble:
        return render(request, "crawling/duplicates.html", {**here, "trouble": str(trouble)})
    return render(
        request, "crawling/duplicates.html", {**here, "rows": rows, "following": following}
    )


@of_run(HAS_NO_PAGES)
def file(request: AuthenticatedRequest, run: Run, kind: str) -> HttpResponseBase:
    """A file with all duplicates of `?kind=`. kind: the format of the file."""
    return send(duplicates_file(run, _kind(request), kind))


def _kind(request: AuthenticatedRequest) -> SimilarityKind:
    """The kind in the address. An invalid kind is ignored."""
    asked = request.GET.get("kind", "")
    return SimilarityKind(asked) if asked in SimilarityKind.values else SimilarityKind.EXACT
