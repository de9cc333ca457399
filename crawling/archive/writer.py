"""The archive's thread: it takes captures from the fetch threads, writes them, and reports when
they are safe on the disk.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum
from queue import Empty, Full, Queue

from django.db import DatabaseError, connections

from crawling.archive.volumes import WarcVolume
from crawling.base.errors import ArchiveTrouble, is_out_of_memory
from crawling.frontier import CapturedExchange, ServerAnswer
from crawling.machine.cpu_affinity import allow_all_cores

logger = logging.getLogger(__name__)

#: the most captures that may wait; a fetch thread with a further capture has to wait
MOST_WAITING = 200
#: captures within this time are written together unless a thread waits for them: waking up for each
#: capture costs more than writing it, since the threads of the process run one at a time
MOMENT_SECONDS = 0.05
#: documents that are larger on average are compressed in parallel with the fetch threads, because
#: zlib releases the interpreter meanwhile
LARGE_BYTES = 32 * 1024
LOOK_SECONDS = 0.5


class ArchiveMode(Enum):
    HOLD = "they wait: no archive file may be opened yet"
    WRITE = "they are written"
    DROP = "they are let go unwritten: their fetches count for nothing"


@dataclass
class _Sync:
    done: threading.Event = field(default_factory=threading.Event)
    #: the lengths of the files, by their rows' ids
    lengths: dict[int, int] = field(default_factory=dict)
    #: the new captures, whose pages are in these files
    written: list[CapturedExchange] = field(default_factory=list)


class ArchiveWriter:
    """Writes in one thread, off the fetch threads.

    `trouble` is a sentence on why it can no longer write; from then on it drops captures.
    `lacks_memory` is true if it stopped for lack of memory, which is no trouble of the disk.

    most_bytes: the size of waiting captures, in memory or in files, beyond which a fetch thread has
    to wait with a further capture. A single capture may be larger. has_aside: whether an exchange
    without a page was put since the last sync.
    """

    def __init__(self, open_volume: Callable[[], WarcVolume], most_bytes: int) -> None:
        self._open_volume = open_volume
        self._most_bytes, self._bytes = most_bytes, 0
        self._volume: WarcVolume | None = None
        self._queue: Queue[tuple[CapturedExchange, ServerAnswer] | _Sync | None] = Queue(
            MOST_WAITING
        )
        self._mode = ArchiveMode.HOLD
        self._changed, self._hurry = threading.Condition(), threading.Event()
        self._has_captured = self.has_aside = False
        self._written: list[CapturedExchange] = []
        self.trouble, self.lacks_memory = "", False
        self._thread = threading.Thread(target=self._work, name="archive", daemon=True)
        self._thread.start()

    @property
    def is_held(self) -> bool:
        """Whether an exchange waits because no file may be opened yet."""
        return self._mode is ArchiveMode.HOLD and self._has_captured

    @property
    def is_open(self) -> bool:
        return self._volume is not None

    def put(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        """Hand an exchange to the thread. Wait while too many exchanges are waiting. Raises
        MemoryError.
        """
        self._has_captured = True
        self._make_room(captured.exchange.size)
        try:
            self._queue_item((captured, answer))
        except MemoryError:
            with self._changed:
                self._bytes -= captured.exchange.size
            raise
        self.has_aside = self.has_aside or not captured.has_page

    def _make_room(self, size: int) -> None:
        with self._changed:
            while self._bytes and self._bytes + size > self._most_bytes:
                self._changed.wait(LOOK_SECONDS)
                self._check_thread()
            self._bytes += size

    def begin(self) -> None:
        """Open the first file and write from now on.

        The caller's connection to PostgreSQL is used: a separate connection would cost a small
        crawl as much as its pages.
        """
        self._do_safely(self._open)
        if not self.trouble:
            self.set_mode(ArchiveMode.WRITE)

    def _open(self) -> None:
        self._volume = self._volume or self._open_volume()

    def set_mode(self, mode: ArchiveMode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()

    def sync(self) -> tuple[dict[int, int], list[CapturedExchange]]:
        """Wait until all exchanges are written and on the disk, or dropped. Return the files'
        lengths to commit, and the captures written since the last call. No length may be committed
        without the pages of all these captures.

        In the mode HOLD nothing is written, and nothing returned.
        """
        if self._mode is ArchiveMode.HOLD:
            return {}, []
        self.has_aside = False  # set before the write, since later captures need another sync
        request = _Sync()
        self._hurry.set()
        self._queue_item(request)
        while not request.done.wait(LOOK_SECONDS):
            self._check_thread()
        self._check_thread()
        return request.lengths, request.written

    def drop_waiting(self) -> None:
        """In the mode HOLD, drop the waiting exchanges. Later ones are held again."""
        self._has_captured = False
        self.set_mode(ArchiveMode.DROP)
        self.sync()
        self.set_mode(ArchiveMode.HOLD)

    def stop_holding(self) -> None:
        """From now on, drop exchanges that would be held."""
        if self._mode is ArchiveMode.HOLD:
            self.set_mode(ArchiveMode.DROP)

    def close(self) -> None:
        """End the thread, which releases its file and slot. Exchanges that came after the last sync
        are dropped.
        """
        self.set_mode(ArchiveMode.DROP)
        if self._thread.is_alive():
            self._hurry.set()
            self._queue_item(None)
        self._thread.join()

    def _queue_item(self, item: tuple[CapturedExchange, ServerAnswer] | _Sync | None) -> None:
        while True:
            try:
                self._queue.put(item, timeout=LOOK_SECONDS)
            except Full:
                self._check_thread()
            else:
                return

    def _check_thread(self) -> None:
        if not self._thread.is_alive():
            raise RuntimeError(
                "the thread that writes the archive has ended; the worker's log says why"
            )

    def _work(self) -> None:
        try:
            while self._write_group():
                pass
        finally:
            if self._volume:
                self._volume.close()
            connections.close_all()

    def _write_group(self) -> bool:
        """Do the queued work up to the first item for which a thread waits. Return False at the
        end.
        """
        group: list[tuple[CapturedExchange, ServerAnswer]] = []
        item: tuple[CapturedExchange, ServerAnswer] | _Sync | None = self._queue.get()
        self._wait_while_held()
        self._hurry.wait(MOMENT_SECONDS)
        with suppress(Empty):
            while isinstance(item, tuple):
                group.append(item)
                item = self._queue.get_nowait()
        self._write(group)
        if isinstance(item, _Sync):
            self._hurry.clear()
            self._do_safely(
                lambda: item.lengths.update(self._volume.sync() if self._volume else {})
            )
            item.written, self._written = self._written, []
            item.done.set()
        return item is not None

    def _wait_while_held(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._mode is not ArchiveMode.HOLD)

    def _write(self, group: list[tuple[CapturedExchange, ServerAnswer]]) -> None:
        if group and self._mode is ArchiveMode.WRITE:
            is_large = sum(answer.bytes for _, answer in group) > LARGE_BYTES * len(group)
            with allow_all_cores() if is_large else nullcontext():
                self._do_safely(lambda: self._keep(group))
        size = sum(captured.exchange.size for captured, _ in group)
        for captured, _ in group:
            captured.exchange.close()
        with self._changed:
            self._bytes -= size
            self._changed.notify_all()

    def _keep(self, group: list[tuple[CapturedExchange, ServerAnswer]]) -> None:
        assert self._volume is not None
        self._volume.keep(group)
        self._written += [captured for captured, _ in group if captured.has_page]

    def _do_safely(self, step: Callable[[], None]) -> None:
        """Do a step. If the disk is full or unreachable, report that and stop writing; nothing is
        committed then.
        """
        try:
            step()
        except (OSError, ArchiveTrouble) as error:
            logger.error("the archive cannot be written", extra={"error": str(error)})
            self.trouble = self.trouble or (
                f"{error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
            )
            self.set_mode(ArchiveMode.DROP)
        except (MemoryError, DatabaseError) as error:
            if not is_out_of_memory(error):
                raise
            self.lacks_memory = True  # a document that is being read uses the memory
            self.set_mode(ArchiveMode.DROP)
