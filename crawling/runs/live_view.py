"""The pages that the browsers of a run show at this moment, while users look.

Work sessions and pages may be on different machines, so the cache has the mark that a user looks,
and the pictures, for some seconds.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress

from django.core.cache import cache
from redis.exceptions import RedisError

from crawling.web.rendering.types import PageView

#: the time for which a look counts, and the time for which pictures are shown
LOOKED_SECONDS, SHOWN_SECONDS = 3, 4
#: the most pages of a work session that are shown, and the most bytes of a picture
MOST_PAGES, MOST_BYTES = 8, 256 * 1024
SIGN, VIEWS = "crawling.live_view.sign:{}", "crawling.live_view.pages:{}"


def request_views(run_id: int, shifts: Iterable[int]) -> list[PageView]:
    """Ask the work sessions of a run for pictures, and return the latest ones. shifts: their ids.

    Raises RedisError.
    """
    cache.set(SIGN.format(run_id), True, LOOKED_SECONDS)
    keys = [VIEWS.format(shift) for shift in shifts]
    found = cache.get_many(keys)
    return [
        PageView(url, seconds, memory, b64decode(picture))
        for key in keys
        for url, seconds, memory, picture in found.get(key, ())
    ]


def is_watched(run_id: int) -> bool:
    """Whether a user has looked at the run's browsers within the last seconds."""
    with suppress(RedisError):  # without Redis there are no pictures
        return cache.get(SIGN.format(run_id)) is not None
    return False


def store_views(shift_id: int, views: Sequence[PageView]) -> None:
    """Show the open pages of a work session for some seconds. Large pictures are left out."""
    rows = [
        (view.url, view.seconds, view.memory_bytes, _picture_as_text(view.picture))
        for view in views[:MOST_PAGES]
    ]
    with suppress(RedisError):
        cache.set(VIEWS.format(shift_id), rows, SHOWN_SECONDS)


def _picture_as_text(picture: bytes) -> str:
    return b64encode(picture).decode() if len(picture) <= MOST_BYTES else ""
