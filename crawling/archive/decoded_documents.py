"""The document in a record as a browser would read it: without content codings.

`crawling.archive.viewer` runs this module as a program of its own.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing

from requests.exceptions import ContentDecodingError

from crawling.archive.unpacker import MOST_SHOWN, StoredRecord, read_record
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox_program import run_sandboxed
from crawling.web.document_stream import DocumentStream, new_spool
from crawling.web.fetch.content_codings import DecodedBody
from crawling.web.http_caching import read_head


def document_in(record: StoredRecord) -> bytes:
    """The payload as a browser would read it, by the codings in its head."""
    return decoded_payload(record.payload, read_head(record.head).get("content-encoding", ""))


def decoded_payload(payload: bytes, coding: str) -> bytes:
    """A payload as a browser would read it, up to the most bytes that may be shown.

    A payload that cannot be unpacked is returned unchanged.
    """
    with closing(decoded_stream(DocumentStream.of(payload), coding, MOST_SHOWN)) as document:
        return document.start(MOST_SHOWN)


def decoded_stream(payload: DocumentStream, coding: str, most: int) -> DocumentStream:
    """A payload as a browser would read it, up to about `most` bytes.

    The stream shares the payload if it has no coding or cannot be unpacked.
    """
    if coding.strip().lower() in ("", "identity"):
        return payload.share()
    document, size = new_spool(), 0
    with ExitStack() as faulty:
        faulty.callback(document.close)
        try:
            for piece in DecodedBody(payload.pieces(), coding):
                size += document.write(piece)
                if size >= most:
                    break
        except ContentDecodingError:
            return payload.share()
        faulty.pop_all()
    return DocumentStream(document, size)


def write_document(length: str) -> None:
    """Write the document of a record. The standard input begins with the record's `length`
    bytes.
    """
    sys.stdout.buffer.write(document_in(read_record(sys.stdin.buffer.read(int(length)))))


if __name__ == "__main__":
    run_sandboxed(write_document, ArchiveTrouble)
