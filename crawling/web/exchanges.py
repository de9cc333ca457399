"""One request and its answer, byte by byte, for the archive."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crawling.web.document_stream import DocumentStream


@dataclass(frozen=True, slots=True)
class Exchange:
    """The bytes on the wire: the request and the answer's status line and headers as they were, and
    the payload as it was encoded.

    Only the transfer coding (chunked) is taken off the payload, as readers of WARC expect; its
    header line stays. A header that was folded is on one line. Of a document that came by another
    protocol, request and head are empty.
    """

    request: bytes
    head: bytes
    payload: DocumentStream
    #: the payload is the document, with no encoding to be taken off
    is_plain: bool = False
    #: the compressed body breaks off
    is_cut_short: bool = False

    @property
    def size(self) -> int:
        return len(self.request) + len(self.head) + len(self.payload)

    def share(self) -> Exchange:
        """The same exchange for one holder more, which closes it, too."""
        return replace(self, payload=self.payload.share())

    def close(self) -> None:
        self.payload.close()
