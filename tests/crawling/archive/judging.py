"""Judges an archive: by warcio's own check, by our index, and by every page's row."""

from __future__ import annotations

from argparse import Namespace
from hashlib import sha256

from warcio.checker import Checker
from xxhash import xxh3_64_intdigest

from crawling.archive.decoded_documents import decoded_payload
from crawling.archive.reader import index_lines, original_of, record_of, records_of
from crawling.models import ArchiveFile, Page, Run
from crawling.web.addresses import signed_64_bits


def files_of(run: Run) -> list[ArchiveFile]:
    return list(ArchiveFile.objects.filter(run=run).order_by("pk"))


def judge(run: Run, *, is_tidy: bool = True) -> list[Page]:
    """Assert all promises about the run's archive; return its pages.

    is_tidy: the files have no bytes after the committed ones.
    """
    files = [file for file in files_of(run) if file.committed_length]
    if is_tidy:
        for file in files:
            assert file.path.stat().st_size == file.committed_length
        paths = [str(path) for path in files[0].path.parent.glob("*.warc.gz")] if files else []
        assert len(paths) == len(files)
        assert Checker(Namespace(inputs=paths, verbose=False)).process_all() == 0
    for file in files:
        kinds = [record.rec_type for record, _, _ in records_of(file, check_digests=True)]
        assert kinds[0] == "warcinfo"
    indexed = {
        (file.name, line.partition('"offset": "')[2].partition('"')[0])
        for file in files
        for line in index_lines(file)
    }
    pages = list(Page.objects.filter(run=run).select_related("archive_file", "url"))
    for page in pages:
        assert page.archive_file, page
        assert (page.archive_file.name, str(page.archive_offset)) in indexed
        assert fingerprint_in_archive(page) == page.fingerprint, page.url.url
        if not page.is_revisit:
            assert sha256(record_of(page).payload).digest() == bytes(page.payload_sha256), (
                page.url.url
            )
    return pages


def fingerprint_in_archive(page: Page) -> int:
    """The fingerprint of the document that the archive has for the page."""
    record = record_of(original_of(page))
    fields = dict(line.partition(":")[::2] for line in record.head.splitlines()[1:])
    coding = next(
        (value.strip() for name, value in fields.items() if name.lower() == "content-encoding"), ""
    )
    return signed_64_bits(xxh3_64_intdigest(decoded_payload(record.payload, coding)))
