"""Files that are made while they are sent, and the answers that carry them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from django.http import StreamingHttpResponse


@dataclass(frozen=True)
class Download:
    """A file that is made piece by piece; `length` in bytes, where it is known before."""

    name: str
    content_type: str
    pieces: Iterator[str] | Iterator[bytes]
    length: int | None = None


def send(download: Download) -> StreamingHttpResponse:
    """Send it piece by piece.

    If a piece can't be made the connection breaks off, so that nobody takes a part for the whole.
    """
    answer = StreamingHttpResponse(download.pieces, content_type=download.content_type)
    answer["Content-Disposition"] = f'attachment; filename="{quote(download.name)}"'
    answer["X-Content-Type-Options"] = "nosniff"
    if download.length is not None:
        answer["Content-Length"] = str(download.length)
    return answer
