"""Read a run's stored HTML pages by the Nu checker, when an operator asks for it. Beside each part
lies a file with its messages.

To be called by a background job or a command: a program reads foreign documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import turbohtml

from crawling.errors import ArchiveTrouble, WrongState
from crawling.links.nu_checker import MOST_BYTES, check_documents, why_unavailable
from crawling.links.nu_checker_run import NuMessage
from crawling.links.parquet import FINDINGS, put_findings, rows_in
from crawling.links.progress import ask_nu, part_read_by_nu, parts_without_nu
from crawling.links.stored_documents import html_pages, stored_document
from crawling.models import LinksPart, Page, Run
from crawling.rq_jobs import NU_READING
from crawling.storage import storage
from crawling.web.addresses import fingerprint
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.tree import HEAD_BYTES

logger = logging.getLogger(__name__)

#: what a row tells: that the page was read, an error or a warning
NU_READ, NU_ERROR, NU_WARNING = "nu-read", "nu-error", "nu-warning"
#: pages of one start of Java, which takes about as long as these (1.7 s, a page of 90 KB 0.1 s)
TOGETHER = 20
UTF_8_MARK = b"\xef\xbb\xbf"
UNCHECKED = (
    f"The Nu checker did not read it: it is larger than {MOST_BYTES // 2**20} MiB, takes too long, "
    "or its document is not in the archive."
)
#: of the columns `crawling.links.parquet.FINDINGS`
NuRow = tuple[int, int, str, str, int, int]


def ask_nu_reading(run: Run) -> int:
    """Let a background job do it; returns how many parts wait. Raises RedisError, and WrongState
    where the checker is not installed.
    """
    if why := why_unavailable():
        raise WrongState(why)
    ask_nu(run)
    waiting = parts_without_nu(run).count()
    if waiting:
        NU_READING.enqueue_if_lost(run.pk)
    return waiting


def read_by_nu(run_id: int, *, note: Callable[[int], None] = lambda pages: None) -> None:
    """Read the pages of all parts that the checker has not read. After a kill it continues where it
    was. Raises WrongState where the checker is not installed.

    note: is told after each part how many of its pages were read.
    """
    if why := why_unavailable():
        raise WrongState(why)
    run = Run.all_objects.select_related("crawl").get(pk=run_id)
    for part in parts_without_nu(run):
        note(read_part_by_nu(run, part))


def read_part_by_nu(
    run: Run, part: LinksPart, *, goes_on: Callable[[], bool] = lambda: True
) -> int:
    """Read the pages of a part; returns how many were read.

    goes_on: is asked before further pages; if it does not, what was read is kept, and the part
    continues there the next time.
    """
    rows: list[NuRow] = _kept(part)
    known, read, is_whole = [row[0] for row in rows if row[2] == NU_READ], 0, True
    pages = html_pages(run).filter(links_part=part.pk).exclude(pk__in=known).order_by("pk")
    for some in _slices(pages.iterator(chunk_size=TOGETHER)):
        if read and not goes_on():
            is_whole = False
            break
        rows += _messages(run, some)
        read += len(some)
    put_findings(part.nu_name, rows)
    if not part_read_by_nu(part, is_whole=is_whole):
        storage().delete(part.nu_name)
    return read


def _kept(part: LinksPart) -> list[Any]:
    """What an earlier reading of the part that was broken off has read."""
    return rows_in(part.nu_name, FINDINGS) if storage().size(part.nu_name) is not None else []


def _slices(pages: Iterator[Page]) -> Iterator[list[Page]]:
    some: list[Page] = []
    for page in pages:
        some.append(page)
        if len(some) == TOGETHER:
            yield some
            some = []
    if some:
        yield some


def _messages(run: Run, pages: Sequence[Page]) -> Iterator[NuRow]:
    documents = [_document(run, page) for page in pages]
    found = iter(check_documents([one for one in documents if one is not None]))
    for page, document in zip(pages, documents, strict=True):
        messages = None if document is None else next(found)
        known = page.pk, fingerprint(page.url.url)
        yield *known, NU_READ, page.url.url, 1, 0
        if messages is None:
            yield *known, NU_ERROR, UNCHECKED, 1, 0
        else:
            for (kind, text), (count, line) in _counted(messages).items():
                yield *known, NU_ERROR if kind == "error" else NU_WARNING, text, count, line


def _counted(messages: Sequence[NuMessage]) -> dict[tuple[str, str], tuple[int, int]]:
    """How often each is told, and the line of the first."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for message in messages:
        count, line = found.get((message.kind, message.text), (0, message.line))
        found[message.kind, message.text] = count + 1, line
    return found


def _document(run: Run, page: Page) -> bytes | None:
    """A stored document, as far as the checker reads one: one byte more tells that it is larger.
    None: the archive has none.
    """
    try:
        with stored_document(run, page) as source:
            return _marked(source)
    except ArchiveTrouble as trouble:
        logger.warning("a page cannot be read again", extra={"page": page.pk, "why": trouble})
        return None


def _marked(source: DocumentSource) -> bytes:
    """The checker sees no HTTP head: of a document whose encoding only the server names, UTF-8 is
    marked.
    """
    body = source.body.start(MOST_BYTES + 1)
    head = turbohtml.parse(body[:HEAD_BYTES], positions=False)
    is_declared = head.encoding_confidence == "certain"
    return body if is_declared or source.charset != "utf-8" else UTF_8_MARK + body
