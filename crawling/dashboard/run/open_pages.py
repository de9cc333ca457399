"""The pages that the browsers of a run have open, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redis.exceptions import RedisError

from crawling.dashboard.run.numbers import live_shifts
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.live_view import request_views
from crawling.web.rendering.types import PageView

NO_REDIS = "Redis does not answer, so no pictures come from the workers."


class OpenPages(NamedTuple):
    views: Sequence[PageView]
    #: the reason why there is none, a sentence; empty if there is one
    why_none: str


def open_pages(run: Run) -> OpenPages:
    """The pages that the browsers of a run have open. They are asked for pictures for some
    seconds.
    """
    if run.state in ENDED_STATES:
        return OpenPages((), f"Run {run.number} has ended, so no browser works for it.")
    if not run.crawl.order.rendering.may_render:
        return OpenPages((), "The order of this crawl renders no page.")
    shifts = live_shifts(run)
    if not shifts:
        return OpenPages((), "This run has no work session now.")
    try:
        views = request_views(run.pk, [shift.pk for shift in shifts])
    except RedisError:
        return OpenPages((), NO_REDIS)
    return OpenPages(views, "" if views else "No browser page is open now.")
