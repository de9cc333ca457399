"""A limit for long answers, such as archives and tables of millions of rows: together they may use
a quarter of the web server's threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import cast

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from serving.download_outcomes import tell_refusal

AGAIN_SECONDS = 10


class DownloadLimitMiddleware:
    """Middleware: refuses downloads beyond the limit, so that pages are still answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._places = BoundedSemaphore(max(1, settings.WEB_THREADS // 4))

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not isinstance(response, StreamingHttpResponse):
            return response
        if not self._places.acquire(blocking=False):
            return _refusal_answer(response)
        response.streaming_content = CountedStream(
            cast(Iterable[bytes], response.streaming_content), self._places
        )
        return response


def _refusal_answer(response: StreamingHttpResponse) -> StreamingHttpResponse:
    """The same response object, which has files to close, but with a sentence as its content."""
    for name in ("Content-Disposition", "Content-Length", "ETag", "Last-Modified"):
        response.headers.pop(name, None)
    tell_refusal(response)
    # one of our frames may show the answer
    response["X-Frame-Options"] = "SAMEORIGIN"
    response["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'self'"
    response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    response["Content-Type"], response["Retry-After"] = "text/plain", str(AGAIN_SECONDS)
    response.streaming_content = [
        b"Others download as much as the server can send; ask again in a moment.\n"
    ]
    return response


class CountedStream:
    """The stream that is sent.

    Its place is free once the answer is closed, whether it was sent to the end or the reader left.
    """

    def __init__(self, pieces: Iterable[bytes], places: BoundedSemaphore) -> None:
        self._pieces = iter(pieces)
        self._places: BoundedSemaphore | None = places

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        places, self._places = self._places, None
        if places:
            places.release()

    __del__ = close  # for an answer that was neither read nor closed
