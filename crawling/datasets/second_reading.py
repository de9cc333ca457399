"""Read a run's stored pages a second time, for their text, structured data, targets of fragments,
errors of markup, and invalid links. The results are in three files beside each part. Only
background jobs and commands call this, since it parses foreign documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import sleep

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.datasets.microformats import MicroformatsReader
from crawling.datasets.parquet import (
    FINDINGS,
    STRUCTURED,
    TEXTS,
    put_findings,
    put_structured_data,
    put_texts,
    rows_in,
)
from crawling.datasets.progress import note_part_read, unread_parts
from crawling.datasets.stored_documents import stored_document
from crawling.installation.events import run_read, texts_read
from crawling.jobs.kinds import JobResult
from crawling.jobs.rq_jobs import exclusive_lock
from crawling.jobs.running_job import JobWaits, RunningJob
from crawling.models import LinksPart, Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.web.addresses import fingerprint
from crawling.web.documents import feed, json_feed, xml
from crawling.web.documents.base import DocumentSource, TruncationReason
from crawling.web.documents.html import TYPES
from crawling.web.documents.html_findings import HtmlFindings, bad_links, find_in_html
from crawling.web.documents.html_text import PageText, text_of
from crawling.web.documents.json_feed import BadFeed
from crawling.web.documents.languages import language_of
from crawling.web.documents.registry import FAMILIES, MEDIA_TYPES, read_document, reader_of
from crawling.web.documents.structured_data import StructuredDataReader
from crawling.web.documents.tree import parse_html
from crawling.web.links import Links
from crawling.web.statuses import DOCUMENT_STATUSES
from crawling.web.structured_rows import DataRow

logger = logging.getLogger(__name__)

#: the time between two checks whether another process has read a part
LOOK_SECONDS = 0.5
#: the kinds of findings: the page was read; it has a place that fragments may name; it has an error
#: of markup
READ, PLACE, ERROR = "read", "place", "error"
#: the kinds of findings about links that cannot be followed: the page has some; the fault of one of
#: them
HAS_BAD_LINKS, BAD_LINK = "has bad links", "bad link"
#: the reasons for a page's cut end that leave only links out
WHOLE = ("", TruncationReason.LENGTH)
#: the page's id and fingerprint, the kind of finding, its text, the number of such findings, and
#: the line of the first
FindingRow = tuple[int, int, str, str, int, int]
#: the columns of `crawling.datasets.parquet.TEXTS`
TextRow = tuple[int, str, str, int, str, str, str, str, str]
#: the columns of `crawling.datasets.parquet.STRUCTURED`: the page, the place, and the row
StructuredRow = tuple[int, str, int, str, str, str, str, int, int, bool]
#: the content types of documents that may be feeds
MAY_BE_FEEDS = (*json_feed.TYPES, *xml.TYPES)
#: the types of documents that list addresses for programs
LISTS = ("application/xml", "text/xml", "application/gzip", "application/x-gzip", "text/css")


def read_run_again(run_id: int, *, note: Callable[[int], None] = lambda pages: None) -> None:
    """Read the pages of all parts that are not read yet, and wait until parts that another process
    reads are done. After a kill, the next call continues where it stopped.

    note: called after each part with the number of its pages that were read.
    """
    run = Run.all_objects.select_related("crawl").get(pk=run_id)
    waiting = list(unread_parts(run))
    while waiting:
        others = []
        for part in waiting:
            pages = read_part(run, part)
            if pages is None:
                others.append(part)
            else:
                note(pages)
        if len(others) == len(waiting):
            sleep(LOOK_SECONDS)  # a killed process leaves no notification, but its lock is released
        waiting = others
    notify_pages_read(run)


def notify_pages_read(run: Run) -> None:
    """Tell uses of crawls that all pages of a run, as far as they are on this machine, were read
    again.
    """
    texts_read()
    if run.state in ENDED_STATES:
        run_read(run)


def read_part(
    run: Run, part: LinksPart, *, goes_on: Callable[[], bool] = lambda: True
) -> int | None:
    """Read the pages of a part again, unless another process has done so. Return the number of
    pages read, or None if another process works on the part.

    goes_on: called after each page; if it returns false, the pages read so far are stored, and the
    next call continues from there.
    """
    with exclusive_lock("read-again", part.pk) as is_alone:
        if not is_alone:
            return None
        if not unread_parts(run).filter(pk=part.pk, name=part.name).exists():
            return 0
        return _read_part(run, part, goes_on)


def _read_part(run: Run, part: LinksPart, goes_on: Callable[[], bool]) -> int:
    rows = _interrupted_rows(part)
    before, is_whole = len(rows.texts), True
    with MicroformatsReader() as microformats:
        for page in _unread_pages(part, [row[0] for row in rows.texts]):
            rows.add(_read_page(run, page, microformats))
            if not goes_on():
                is_whole = False
                break
    put_findings(part.findings_name, rows.findings)
    put_structured_data(part.structured_name, rows.structured)
    put_texts(part.texts_name, rows.texts)
    if not note_part_read(part, is_whole=is_whole):
        for name in part.reading_names:
            storage().delete(name)
    return len(rows.texts) - before


@dataclass
class ReadRows:
    findings: list[FindingRow] = field(default_factory=list)
    structured: list[StructuredRow] = field(default_factory=list)
    #: a row for each page that was read
    texts: list[TextRow] = field(default_factory=list)

    def add(self, other: ReadRows) -> None:
        self.findings += other.findings
        self.structured += other.structured
        self.texts += other.texts


def _interrupted_rows(part: LinksPart) -> ReadRows:
    """The rows of an interrupted earlier reading of the part."""
    if any(storage().size(name) is None for name in part.reading_names):
        return ReadRows()
    try:
        return ReadRows(
            rows_in(part.findings_name, FINDINGS),
            rows_in(part.structured_name, STRUCTURED),
            rows_in(part.texts_name, TEXTS),
        )
    except OSError:  # if one of the files is damaged, all pages of the part are read again
        return ReadRows()


def _unread_pages(part: LinksPart, known: Sequence[int]) -> Iterator[Page]:
    pages = Page.objects.filter(links_part=part.pk, status__in=DOCUMENT_STATUSES, bytes__gt=0)
    pages = pages.exclude(pk__in=known).order_by("url")
    return pages.select_related("url", "archive_file", "run").iterator(chunk_size=500)


def _read_page(run: Run, page: Page, microformats: MicroformatsReader) -> ReadRows:
    """The findings on a page. Also a page without a text gets a row, which shows that the page was
    read.
    """
    findings, text, structured = list[FindingRow](), PageText(), list[DataRow]()
    is_feed, has_text = page.content_type in MAY_BE_FEEDS, _may_have_text(page.content_type)
    if has_text or is_feed or page.content_type in LISTS:
        try:
            with stored_document(run, page) as document:
                if page.content_type in TYPES:
                    findings, text, structured = _read_html(page, document, microformats)
                else:
                    findings, text = _read_other(page, document, has_text=has_text)
                if is_feed:
                    structured = _read_feed(document)
        except ArchiveTrouble as trouble:
            facts = {"page": page.pk, "why": trouble}
            logger.warning("a page cannot be read again", extra=facts)
    row = (
        *(page.pk, page.url.url, page.content_type, int(page.fetched_at.timestamp())),
        text.language,
        *(text.title, text.headings, text.text, text.around),
    )
    places = enumerate(structured)
    return ReadRows(findings, [(page.pk, page.url.url, at, *told) for at, told in places], [row])


def _may_have_text(content_type: str) -> bool:
    """Whether documents of a type are read, and have text for people."""
    family = content_type.partition("/")[0]
    others = (*MEDIA_TYPES, *LISTS)
    return content_type not in others and family not in FAMILIES and bool(reader_of(content_type))


def _read_html(
    page: Page, source: DocumentSource, microformats: MicroformatsReader
) -> tuple[list[FindingRow], PageText, list[DataRow]]:
    document, charset, unread = parse_html(source.body, source.charset)
    # the missing text of a page that was read in part may come after its end
    is_whole = not unread and page.unread in WHOLE
    findings = list(_page_findings(page, find_in_html(document))) if is_whole else []
    reader = StructuredDataReader(source.url)
    reader.read(document)
    links = Links(source.url, charset=charset, base=reader.base)
    findings += _link_findings(page, bad_links(document, links))
    reader.read_microformats(microformats.items(document, reader.base))
    text = _text_with_detected_language(text_of(document))
    reader.read_text(text, text.language)
    return findings, text, reader.rows


def _text_with_detected_language(text: PageText) -> PageText:
    """The text with its language as it is detected, in place of the language that the page
    states.
    """
    return text._replace(language=language_of(text.text or text.title, text.language))


def _read_other(
    page: Page, source: DocumentSource, *, has_text: bool
) -> tuple[list[FindingRow], PageText]:
    document = read_document(source)
    findings = list(_link_findings(page, document.notes.bad))
    if not has_text:
        return findings, PageText()
    text = " ".join(document.text.split())
    stated = PageText(document.title, text=text, language=document.metadata.language)
    return findings, _text_with_detected_language(stated)


def _read_feed(source: DocumentSource) -> list[DataRow]:
    reader = StructuredDataReader(source.url)
    with suppress(BadFeed):  # another kind of XML
        reader.read_feed(*feed.entry_data(source))
    return reader.rows


def _page_findings(page: Page, found: HtmlFindings) -> Iterator[FindingRow]:
    known = page.pk, fingerprint(page.url.url)
    yield *known, READ, page.url.url, 1, 0
    for place in sorted(found.ids):
        yield *known, PLACE, place, 1, 0
    for code, (count, line) in found.errors.items():
        yield *known, ERROR, code, count, line


def _link_findings(page: Page, found: Mapping[str, int]) -> Iterator[FindingRow]:
    known = page.pk, fingerprint(page.url.url)
    if found:
        yield *known, HAS_BAD_LINKS, page.url.url, 1, 0
    for told, count in found.items():
        yield *known, BAD_LINK, told, count, 0


def read_parts(job: RunningJob) -> JobResult:
    """The work of the job. After a kill the next call continues, since the rows of parts show which
    parts were read. Raises JobWaits.
    """
    is_all_read = True
    for part in unread_parts(job.run):
        pages = read_part(job.run, part, goes_on=job.goes_on)
        is_all_read &= pages is not None
        if not job.goes_on():
            job.note(**job.progress_after(pages or 0))
            texts_read()
            return None
        job.bookmark(part.pk, **job.progress_after(pages or 0))
    if not is_all_read:
        raise JobWaits("a command reads the rest")
    notify_pages_read(job.run)
    return {}
