"""The program of a reading process: it reads one HTML document after the other."""

from __future__ import annotations

import gc
import math
import mmap
import resource
import socket
import time

from crawling.machine.memory_limit import keep_free_memory
from crawling.machine.sandbox_program import run_sandboxed
from crawling.web.content.text_facts import TextFacts
from crawling.web.documents import html
from crawling.web.reading.packed_document import pack_document
from crawling.web.reading.shared_slots import (
    NOT_READ,
    READY,
    REQUEST,
    RESULT,
    mark_of_protocols,
    put_result,
    read_source,
)

#: the most processor time of a document; reading is linear, and takes milliseconds
CPU_SECONDS = 2
#: objects that it makes before Python looks for cycles: a document leaves hardly any
YOUNG_OBJECTS, OLDER_EVERY = 20_000, 20


def main(memory_descriptor: str, link_descriptor: str) -> None:
    """Read the documents that the work process puts into the shared memory, until that process
    ends.
    """
    keep_free_memory()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, OLDER_EVERY, OLDER_EVERY)
    memory = mmap.mmap(int(memory_descriptor), 0)
    link = socket.socket(fileno=int(link_descriptor))
    link.send(RESULT.pack(READY, mark_of_protocols()))
    while request := link.recv(REQUEST.size):
        slot, head, size = REQUEST.unpack(request)
        _limit_processor_time()
        link.send(RESULT.pack(slot, _read_slot(memory, slot, head, size)))


def _limit_processor_time() -> None:
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + CPU_SECONDS, hard))


def _read_slot(memory: mmap.mmap, slot: int, head: int, size: int) -> int:
    try:
        source, is_listed = read_source(memory, slot, head, size)
        document = html.read(source)
        facts = TextFacts(
            document.text, source.url, document.title, has_key=True, is_listed=is_listed
        )
        return put_result(memory, slot, pack_document(document, facts))
    except MemoryError:  # the work process may have more
        return NOT_READ


if __name__ == "__main__":
    run_sandboxed(main)
