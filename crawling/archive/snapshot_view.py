"""A stored page with the styles, images and fonts that were archived with it, as one document."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any

from crawling.archive.reader import packed_record, page_as_shown, rendition_of
from crawling.archive.snapshot_program import FILE, MOST_FILES, MOST_NESTED, PAGE, SHEET, SHOW
from crawling.archive.stored_pages import StoredPages
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox import SandboxLimits, TaskSandbox
from crawling.models import Page
from crawling.web.documents.css import TYPES as SHEETS

PROGRAM = "crawling.archive.snapshot_program"
MIB = 1024 * 1024
LIMITS = SandboxLimits(memory_bytes=768 * MIB, cpu_seconds=8, seconds=15.0, output_bytes=64 * MIB)
#: the most bytes of all files of a page, and of one file; small files precede large ones
MOST_BYTES, MOST_OF_ONE = 16 * MIB, 8 * MIB
#: the seconds after which no more files are read, and after which the page is not shown at all
SECONDS, MOST_SECONDS = 12.0, 20.0
#: the number of pages that a web process joins with their files at once: each may take a thread,
#: and all memory up to its limit
PLACES = BoundedSemaphore(2)
#: the seconds for which a further page waits for a place before it is refused
WAIT_SECONDS = 5.0
BUSY = "Other stored pages are being put together; open this one again in a moment."
TOO_MUCH = "The page could not be put together within its limits of time and memory."


@dataclass
class Snapshot:
    document: bytes = b""
    #: the number of files that are shown
    files: int = 0
    #: the number of files from other runs
    of_other_runs: int = 0
    #: the number of files that the crawl has not stored
    missing: int = 0
    #: the number of files that were too large or too many
    left_out: int = 0


def snapshot_of(page: Page, charset: str, address_of: Callable[[Page], str]) -> Snapshot:
    """An HTML page in UTF-8, as a browser can show it without a request.

    address_of: returns the address to which a link to a stored page leads. Raises ArchiveTrouble.
    """
    with _one_of_few(), _Program(PROGRAM, limits=LIMITS) as program:
        return _PageParts(page, program).put_together(charset, address_of)


@contextmanager
def _one_of_few() -> Iterator[None]:
    """Let only a few threads run the block at once. Raises ArchiveTrouble if none of them ends in
    time.
    """
    if not PLACES.acquire(timeout=WAIT_SECONDS):
        raise ArchiveTrouble(BUSY)
    try:
        yield
    finally:
        PLACES.release()


class _Program(TaskSandbox):
    def __init__(self, module: str, *, limits: SandboxLimits) -> None:
        super().__init__(module, limits=limits)
        self._given_up_at = time.monotonic() + MOST_SECONDS

    def ask(self, do: str, content: Iterable[bytes], size: int, **about: str | bool) -> bytes:
        """Raises ArchiveTrouble."""
        task: dict[str, Any] = {"do": do, "size": size, **about}
        self._seconds = max(0.0, min(LIMITS.seconds, self._given_up_at - time.monotonic()))
        answer = self.answer(task, content)
        if answer is None:
            raise ArchiveTrouble(TOO_MUCH)
        return answer

    def give(self, do: str, page: Page, **about: str | bool) -> bytes:
        """Send the program a task with the record that has the content of a page. Raises
        ArchiveTrouble.
        """
        stored = page_as_shown(page)
        return self.ask(do, packed_record(stored), stored.archive_length or 0, **about)


@dataclass
class _PageParts:
    page: Page
    program: _Program
    told: Snapshot = field(default_factory=Snapshot)
    captures: StoredPages = field(init=False)
    #: the time at which the limit ends, by the monotonic clock
    until: float = field(init=False)
    #: addresses of the files that the page and its style sheets name
    files: dict[str, None] = field(default_factory=dict)

    def put_together(self, charset: str, address_of: Callable[[Page], str]) -> Snapshot:
        self.captures, self.until = StoredPages(self.page), time.monotonic() + SECONDS
        url = self.page.url.url
        is_rendered = rendition_of(self.page, "dom") is not None
        charset = "utf-8" if is_rendered else charset
        given = self.program.give(
            PAGE, self.page, url=url, charset=charset, is_rendered=is_rendered
        )
        noted = json.loads(given)
        self._add_references(noted)
        self._give_sheets(noted["sheets"])
        self._give_files()
        links = self.captures.first(noted["links"])
        led = json.dumps({url: address_of(page) for url, page in links.items()}).encode()
        count, _, document = self.program.ask(SHOW, [led], len(led)).partition(b"\n")
        self.told.left_out += int(count)
        self.told.document = document
        return self.told

    def _add_references(self, noted: Mapping[str, list[str]]) -> None:
        for url in noted["files"]:
            if len(self.files) >= MOST_FILES:
                self.told.left_out += 1
            else:
                self.files[url] = None

    def _give_sheets(self, urls: Collection[str]) -> None:
        known = set[str]()
        for _ in range(MOST_NESTED):
            fresh = list(dict.fromkeys(url for url in urls if url not in known))
            some = fresh[: MOST_FILES - len(known)]
            self.told.left_out += len(fresh) - len(some)
            known |= set(some)
            urls = []
            for url, page in self._stored_pages(some).items():
                if page.content_type in SHEETS:
                    about = {"base": page.url.url, "charset": page.charset}
                    if answer := self._shown_file(SHEET, url, page, about):
                        noted = json.loads(answer)
                        self._add_references(noted)
                        # twice the limit is enough to show that some files are left out
                        urls = [*urls, *noted["sheets"]][: 2 * MOST_FILES]

    def _give_files(self) -> None:
        left = MOST_BYTES
        for url, page in sorted(
            self._stored_pages(self.files).items(), key=lambda item: item[1].bytes
        ):
            left -= page.bytes
            if left < 0 or page.bytes > MOST_OF_ONE:
                self.told.left_out += 1
            else:
                self._shown_file(FILE, url, page, {"type": page.content_type})

    def _stored_pages(self, urls: Collection[str]) -> dict[str, Page]:
        found = self.captures.of(urls)
        self.told.missing += len(urls) - len(found)
        return found

    def _shown_file(self, do: str, url: str, page: Page, about: Mapping[str, str]) -> bytes:
        """The program's answer to a file; empty if the file cannot be shown."""
        if time.monotonic() > self.until:
            self.told.left_out += 1
            return b""
        try:
            answer = self.program.give(do, page, url=url, **about)
        except ArchiveTrouble:
            self.told.missing += 1
            return b""
        if answer:
            self.told.files += 1
            self.told.of_other_runs += page.run_id != self.page.run_id
        return answer
