"""A withdrawn page leaves the bucket, whatever machine rewrites its file."""

from __future__ import annotations

from crawling.archive.files import remove_abandoned
from crawling.archive.reader import record_of
from crawling.base.storage import storage
from crawling.datasets.catch_up import catch_up
from crawling.models import Page
from crawling.uses.withdrawals.file_removal import remove_records
from tests.crawling.archive.judging import files_of
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.uses.withdrawals.test_withdrawing import SECRET, SHARED, taken_down


def test_a_withdrawn_page_leaves_the_bucket(bucket, make_site, crawl_to_the_end, another_machine):
    texts = {"/secret": SECRET + SHARED, "/copy": SECRET + SHARED, "/other": "other"}
    site = make_site({"/": links(*texts), **texts})
    run = crawl_to_the_end(f"{site.url}/", batch_size=1)
    catch_up(run.pk)
    another_machine()
    (before,) = files_of(run)
    kept = Page.objects.exclude(url__url__endswith="/secret").filter(is_revisit=False)
    expected = {page.pk: record_of(page).payload for page in kept.select_related("archive_file")}

    withdrawal = taken_down(run, f"{site.url}/secret")
    remove_records(withdrawal.pk)
    remove_abandoned()

    (after,) = files_of(run)
    assert (before.name != after.name, after.parts) == (True, [])
    assert list(storage().list(after.folder)) == [after.name]
    found = kept.select_related("archive_file").in_bulk(expected)
    assert {pk: record_of(page).payload for pk, page in found.items()} == expected
