"""One request and its answer, byte by byte, for the archive."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crawling.web.document_stream import DocumentStream


@dataclass(frozen=True, slots=True)
class Exchange:
    """The bytes on the wire: the request, the answer's status line and headers, and the payload
    with its encoding, all unchanged.

    Only the transfer coding (chunked) is removed from the payload, as readers of WARC expect; its
    header line stays. A folded header is joined into one line. For a document that came by another
    protocol, request and head are empty.
    """

    request: bytes
    head: bytes
    payload: DocumentStream
    #: whether the payload is the document, without any encoding to remove
    is_plain: bool = False
    #: whether the compressed body breaks off
    is_cut_short: bool = False

    @property
    def size(self) -> int:
        return len(self.request) + len(self.head) + len(self.payload)

    def share(self) -> Exchange:
        """The same exchange for another holder, which must close it, too."""
        return replace(self, payload=self.payload.share())

    def close(self) -> None:
        self.payload.close()
