"""The reading process as the work process sees it.

Python runs one thread of a process at a time, and reading takes half of a page's time there. The
work process itself reads a document for which there is no slot, or which the reading process failed
to read, so only speed depends on the reading process (docs/decisions/0186).
"""

from __future__ import annotations

import fcntl
import mmap
import os
import socket
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from crawling.machine.sandbox import Program, ProgramSandbox, SandboxLimits, end_program
from crawling.web.content.text_facts import TextFacts
from crawling.web.documents.base import Document, DocumentSource
from crawling.web.reading.packed_document import Unpacker
from crawling.web.reading.shared_slots import (
    NOT_READ,
    READY,
    REQUEST,
    RESULT,
    SLOT_BYTES,
    SLOTS,
    mark_of_protocols,
    put_document,
    read_result,
)

PROGRAM = "crawling.web.reading.program"
#: the interpreter and its modules take 30 MiB, and the tree of a document in a slot at most 60
MEMORY_BYTES = 160 * 1024 * 1024
#: The most documents that it has still to read. The work process reads more than that itself: fetch
#: threads would wait for the process, which is slower with long documents
MOST_UNREAD = 4
#: the longest wait for a document, by the clock
LONGEST_SECONDS = 3
#: the same for the kernel: Python's own time limit would also bind a call that must not wait
TIMEOUT = Struct("@ll").pack(LONGEST_SECONDS, 0)
NANOSECOND = 1e-9
#: the process cannot make the memory smaller, of which a read would then kill the work process
SEALS = getattr(fcntl, "F_SEAL_SHRINK", 0) | getattr(fcntl, "F_SEAL_GROW", 0)
#: a message of no document, in place of one that has not come
WRONG = SLOTS, NOT_READ


@dataclass(eq=False, slots=True)
class AheadDocument:
    """A document that a reading process has. `document` or `close` has to be called once."""

    process: ReadingProcess
    slot: int
    #: the bytes of the read document, or NOT_READ; None until it is read
    size: int | None = None
    is_closed: bool = False
    #: the facts of its text as that of a page; None before `document` has returned it
    facts: TextFacts | None = None

    def is_settled(self) -> bool:
        return self.size is not None

    def is_read(self) -> bool:
        """Whether `document` would not have to wait."""
        return self.is_settled() or self.process.has_read(self)

    def document(self) -> Document | None:
        """Wait for the read document; None if the caller has to read it."""
        self.is_closed = True
        return self.process.result_of(self)

    def close(self) -> None:
        if not self.is_closed:
            self.document()


class ReadingUse(NamedTuple):
    """The work of a reading process: documents, the seconds on a core, and those of waiting for
    one.
    """

    documents: int = 0
    worked: float = 0.0
    waited: float = 0.0


NO_USE = ReadingUse()


class ReadingProcess:
    """All threads use it, except for `end`, which is for the thread that made it: the process ends
    with that thread.

    cores: the cores that it runs on.
    """

    def __init__(self, cores: Sequence[int]) -> None:
        self._documents = 0
        self._unpacker = Unpacker()
        self._free, self._asked = deque(range(SLOTS)), dict[int, AheadDocument]()
        self._sending, self._receiving = threading.Lock(), threading.Lock()
        self._is_ready, self.has_ended = False, False
        self._link, its_link = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, TIMEOUT)
        descriptor = os.memfd_create("documents", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(descriptor, SLOTS * SLOT_BYTES)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALS)
        self._memory = mmap.mmap(descriptor, SLOTS * SLOT_BYTES)
        try:
            self._program = _start_program(descriptor, its_link.fileno(), cores)
        finally:
            os.close(descriptor)
            its_link.close()

    def begin(self, source: DocumentSource, *, is_listed: bool) -> AheadDocument | None:
        """Let the process read an HTML document; None if it cannot take one now."""
        if self.has_ended or not self._has_begun():
            return None
        if len(self._asked) >= MOST_UNREAD:
            self._receive_all()
        if len(self._asked) >= MOST_UNREAD:
            return None
        try:
            slot = self._free.popleft()
        except IndexError:
            return None
        sizes = None
        with suppress(MemoryError):
            sizes = put_document(self._memory, slot, source, is_listed=is_listed)
        if sizes is None:
            self._free.append(slot)
            return None
        ahead = self._asked[slot] = AheadDocument(self, slot)
        try:
            with self._sending:
                self._link.send(REQUEST.pack(slot, *sizes))
        except OSError:
            self._give_up()
        return ahead

    def _has_begun(self) -> bool:
        if not self._is_ready:
            with self._receiving:
                self._is_ready = self._is_ready or self._receive(socket.MSG_DONTWAIT)
        return self._is_ready

    def has_read(self, ahead: AheadDocument) -> bool:
        """Whether the document is read; does not wait."""
        self._receive_all()
        return ahead.is_settled()

    def _receive_all(self) -> None:
        """Receive what the process has said, unless another thread does."""
        if self._receiving.acquire(blocking=False):
            try:
                while self._asked and self._receive(socket.MSG_DONTWAIT):
                    pass
            finally:
                self._receiving.release()

    def result_of(self, ahead: AheadDocument) -> Document | None:
        """Wait for a read document and free its slot; None if it was not read."""
        if not ahead.is_settled():
            with self._receiving:
                while not ahead.is_settled():
                    self._receive()
        size = ahead.size
        if self.has_ended or size is None or size < 0:
            self._free.append(ahead.slot)
            return None
        try:
            packed = read_result(self._memory, ahead.slot, size)
            document, ahead.facts = self._unpacker.unpack(packed)
        except MemoryError:
            return None
        except ValueError:
            self._give_up()
            return None
        finally:
            self._free.append(ahead.slot)
        return document

    def _receive(self, flags: int = 0) -> bool:
        """Receive a message of the process. Return whether there was one."""
        try:
            message = self._link.recv(RESULT.size, flags)
        except BlockingIOError:
            if flags:
                return False
            message = b""  # the time is over
        except OSError:
            message = b""
        slot, size = RESULT.unpack(message) if len(message) == RESULT.size else WRONG
        if slot == READY and size == mark_of_protocols() and not self._is_ready:
            return True
        ahead = self._asked.pop(slot, None)
        if ahead is None:
            self._give_up()
            return False
        self._documents += 1
        ahead.size = size
        return True

    def use(self) -> ReadingUse:
        """The process's use so far. The seconds are 0 where the system does not tell them."""
        worked = waited = 0
        with suppress(OSError, ValueError):
            told = Path(f"/proc/{self._program.pid}/schedstat").read_text()
            worked, waited, _ = map(int, told.split())
        return ReadingUse(self._documents, worked * NANOSECOND, waited * NANOSECOND)

    def _give_up(self) -> None:
        """End a process that is dead, stuck or faulty. The documents that were sent to it are not
        read.
        """
        self.has_ended = True
        self._program.kill()
        with suppress(KeyError):
            while True:
                self._asked.popitem()[1].size = NOT_READ

    def end(self) -> None:
        """End the process; threads that wait for it go on."""
        self._give_up()
        end_program(self._program)
        with self._sending, self._receiving:
            self._link.close()


def _start_program(memory: int, link: int, cores: Sequence[int]) -> Program:
    limits = SandboxLimits(MEMORY_BYTES, None, LONGEST_SECONDS, SLOT_BYTES, cores=cores)
    program = ProgramSandbox(PROGRAM, str(memory), str(link), limits=limits)
    return program.start_silent(kept_open=(memory, link))
