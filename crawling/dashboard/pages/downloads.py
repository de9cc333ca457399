"""Files that can be had of a run's pages: their rows, and what the archive has of them.

All are made while they are sent.
"""

from __future__ import annotations

from crawling.archive.selection import files_here, foreign_payloads, warc_of, whole_run
from crawling.dashboard.pages.filter import PageFilter, in_time
from crawling.dashboard.pages.rows import FACTS, row_of
from crawling.models import Page, Run
from serving.downloads import Download, row_file

WARC = "application/warc"


def rows_file(run: Run, wanted: PageFilter, kind: str) -> Download:
    """The rows of the pages that the filter lets through, as csv or jsonl."""
    rows = map(row_of, in_time(wanted.of(run)))
    return row_file(_stem(run, wanted), kind, rows, tuple(FACTS))


def warc_file(run: Run, wanted: PageFilter) -> Download:
    """The records of the pages that the filter lets through; without one all that the run has
    archived, failures included. Payloads that other runs have come with them.

    Raises ArchiveTrouble if there are none, or not on this machine.
    """
    files, name = files_here(run), f"{_stem(run, wanted)}.warc.gz"
    if not wanted:
        foreign = foreign_payloads(run)
        pieces = whole_run(files, foreign.iterator(), name=name, facts=_facts(run, wanted))
        size = sum(file.committed_length for file in files)
        return Download(name, WARC, pieces, None if foreign.exists() else size)
    return Download(
        name, WARC, warc_of(in_time(wanted.of(run)), name=name, facts=_facts(run, wanted))
    )


def page_file(page: Page) -> Download:
    """The records of one page, with the one that has its payload. Raises ArchiveTrouble."""
    files_here(page.run)
    name = f"page-{page.pk}.warc.gz"
    return Download(name, WARC, warc_of([page], name=name, facts=_facts(page.run, PageFilter())))


def _stem(run: Run, wanted: PageFilter) -> str:
    return f"crawl-{run.crawl_id}-run-{run.number}{'-some' if wanted else ''}-pages"


def _facts(run: Run, wanted: PageFilter) -> dict[str, str]:
    facts = {
        "software": "crawlsite",
        "format": "WARC File Format 1.1",
        "isPartOf": f"{run.crawl.name}, run {run.number}",
    }
    conditions = [f"status {wanted.status}"] if wanted.status else []
    conditions += [f"{wanted.text!r} in address or title"] if wanted.text else []
    conditions += ["not all read"] if wanted.is_unread else []
    return facts | ({"description": f"pages with {' and '.join(conditions)}"} if conditions else {})
