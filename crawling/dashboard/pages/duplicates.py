"""Which pages of a run say the same: copies, near copies, and pages that name another address as
their own. One query a page of a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crawling.errors import CrawlError
from crawling.models import Run
from crawling.timed import time_limit
from crawling.web.simhash import NEAR_BITS
from serving.paging import cut

#: a run of many near copies needs many comparisons
LONGEST_SECONDS = 10


class DuplicateSearchTookTooLong(CrawlError):
    """Comparing the run's pages took longer than 10 seconds and was cancelled; ask for fewer rows
    at a time.
    """


class SimilarityKind(StrEnum):
    """Kinds of duplicates."""

    EXACT = "exact"
    NEAR = "near"
    CANONICAL = "canonical"


@dataclass(frozen=True)
class SimilarPage:
    """A page and the one it is like."""

    url: str
    of: str
    kind: SimilarityKind
    #: the number of bits in which the simhashes of their texts differ
    distance: int
    title: str
    bytes: int


EXACT = """
SELECT p.url_id, u.url, o.url, 0, p.title, p.bytes FROM crawling_page p
JOIN crawling_url u ON u.id = p.url_id JOIN crawling_url o ON o.id = p.duplicate_of
WHERE p.run_id = %(run)s AND p.duplicate_of IS NOT NULL AND p.url_id > %(after)s ORDER BY p.url_id
LIMIT %(limit)s
"""

CANONICAL = """
SELECT p.url_id, u.url, p.canonical, 0, p.title, p.bytes FROM crawling_page p
JOIN crawling_url u ON u.id = p.url_id
WHERE p.run_id = %(run)s AND p.canonical NOT IN ('', u.url) AND p.url_id > %(after)s
ORDER BY p.url_id LIMIT %(limit)s
"""

BAND = """SELECT url_id, simhash FROM crawling_page
WHERE run_id = p.run_id AND simhash IS NOT NULL AND duplicate_of IS NULL
    AND (simhash >> {0}) & 65535 = (p.simhash >> {0}) & 65535"""

#: two simhashes that differ in so few bits share one of four bands; each band has its index
NEAR = f"""
SELECT p.url_id, u.url, o.url, other.distance, p.title, p.bytes FROM crawling_page p
JOIN crawling_url u ON u.id = p.url_id
CROSS JOIN LATERAL (
    SELECT url_id, bit_count((band.simhash # p.simhash)::bit(64)) AS distance
    FROM ({" UNION ".join(BAND.format(16 * n) for n in range(4))}) band
    WHERE url_id < p.url_id AND bit_count((band.simhash # p.simhash)::bit(64)) <= %(most)s
    ORDER BY url_id LIMIT 1
) other JOIN crawling_url o ON o.id = other.url_id
WHERE p.run_id = %(run)s AND p.simhash IS NOT NULL AND p.duplicate_of IS NULL
    AND p.url_id > %(after)s ORDER BY p.url_id LIMIT %(limit)s
"""  # noqa: S608  # BAND is a constant

QUERIES = {
    SimilarityKind.EXACT: EXACT,
    SimilarityKind.NEAR: NEAR,
    SimilarityKind.CANONICAL: CANONICAL,
}


def list_alike(
    run: Run, kind: SimilarityKind, *, after: int = 0, limit: int
) -> tuple[list[SimilarPage], int | None]:
    """Pages in the order in which they were found, each with the first that it is like.

    Raises DuplicateSearchTookTooLong.
    """
    values = {"run": run.pk, "after": after, "limit": limit + 1, "most": NEAR_BITS}
    with time_limit(LONGEST_SECONDS, DuplicateSearchTookTooLong) as cursor:
        cursor.execute(QUERIES[kind], values)
        rows = cursor.fetchall()
    rows, following = cut(rows, limit, lambda row: row[0])
    items = [
        SimilarPage(url, of, kind, distance, title, size)
        for _, url, of, distance, title, size in rows
    ]
    return items, following
