"""Moves the rows of pages, with their extracted data, out of the table of pages and back.

Every list, search, export, comparison and look-up of payloads reads that table, so none of them
finds a page without a row in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection

from crawling.models import FurtherRecord, Page

#: The caller holds the locks of the runs.
TAKE_OUT = """
WITH gone AS (
    DELETE FROM crawling_page WHERE url_id = ANY(%(pages)s) RETURNING *
), extracted AS (
    DELETE FROM crawling_extractedrow WHERE url_id = ANY(%(pages)s) RETURNING *
), further AS (
    DELETE FROM crawling_furtherrecord WHERE url_id = ANY(%(pages)s) RETURNING *
)
INSERT INTO crawling_withdrawnpage (withdrawal_id, url_id, run_id, content)
SELECT %(withdrawal)s, gone.url_id, gone.run_id, jsonb_build_object(
    'page', to_jsonb(gone),
    'extracted', (
        SELECT coalesce(jsonb_agg(to_jsonb(e)), '[]') FROM extracted e
        WHERE e.url_id = gone.url_id
    ),
    'further', (
        SELECT coalesce(jsonb_agg(to_jsonb(f)), '[]') FROM further f
        WHERE f.url_id = gone.url_id
    )
)
FROM gone
"""
#: A page that was fetched again meanwhile stays unchanged.
PUT_BACK = """
WITH back AS (
    DELETE FROM crawling_withdrawnpage WHERE withdrawal_id = %(withdrawal)s RETURNING content
), pages AS (
    INSERT INTO crawling_page
    SELECT page.* FROM back, jsonb_populate_record(NULL::crawling_page, back.content -> 'page') page
    ON CONFLICT (url_id) DO NOTHING RETURNING url_id
), further AS (
    INSERT INTO crawling_furtherrecord
    SELECT row.* FROM back,
        jsonb_populate_recordset(NULL::crawling_furtherrecord, back.content -> 'further') row
)
INSERT INTO crawling_extractedrow
SELECT row.* FROM back,
    jsonb_populate_recordset(NULL::crawling_extractedrow, back.content -> 'extracted') row
JOIN pages ON pages.url_id = row.url_id
"""


def withdraw_page_rows(withdrawal_id: int, pages: Sequence[int]) -> None:
    """Withdraw these pages, by the ids of their URLs, for this withdrawal."""
    with connection.cursor() as cursor:
        cursor.execute(TAKE_OUT, {"withdrawal": withdrawal_id, "pages": list(pages)})


def restore_page_rows(withdrawal_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(PUT_BACK, {"withdrawal": withdrawal_id})


def set_new_places(file_id: int, places: Mapping[int, tuple[int, int, bool]]) -> int:
    """Set new places of the pages and further records of an archive file, by their old offsets: new
    offset, length, and whether the record is a revisit of another record of the file. Return their
    number.
    """
    found = 0
    for before, (offset, length, is_revisit) in places.items():
        place = {"archive_offset": offset, "archive_length": length, "is_revisit": is_revisit}
        here: dict[str, int] = {"archive_file": file_id, "archive_offset": before}
        pages = Page.objects.filter(**here).update(**place, payload_from=None)
        further = FurtherRecord.objects.filter(**here).update(**place)
        found += bool(pages or further)
    return found
