"""Answers that carry a file to be kept."""

from __future__ import annotations

from urllib.parse import quote

from django.http import StreamingHttpResponse

from crawling.downloads import Download


def send(download: Download) -> StreamingHttpResponse:
    """Send it piece by piece. If a piece can't be made the connection breaks off, so that nobody takes a part for the whole."""
    answer = StreamingHttpResponse(download.pieces, content_type=download.content_type)
    answer["Content-Disposition"] = f'attachment; filename="{quote(download.name)}"'
    answer["X-Content-Type-Options"] = "nosniff"
    if download.length is not None:
        answer["Content-Length"] = str(download.length)
    return answer
