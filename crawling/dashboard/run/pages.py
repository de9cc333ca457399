"""A run's pages, with a filter: in lists for people, the latest first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from django.db.models import Q

from crawling.base.timed import time_limit
from crawling.dashboard.pages.filter import PageFilter
from crawling.models import Page, Run
from serving.paging import cut

#: key and head of the columns that a user may hide; address and status always show
HIDEABLE = {"type": "Type", "size": "Size", "fetched": "Fetched"}


@dataclass(frozen=True)
class PageWindow:
    pages: Sequence[Page]
    #: where to continue before these; None: nothing is older
    older: int | None


def pages_of(run: Run, wanted: PageFilter, *, most: int, before: int | None = None) -> PageWindow:
    """The latest pages that the filter lets through, fetched before that of the id.

    Raises SearchTookTooLong.
    """
    last = Page.objects.filter(run=run, pk=before).first() if before is not None else None
    # The first condition is what the index can begin at.
    is_older = (
        Q(fetched_at__lte=last.fetched_at)
        & (Q(fetched_at__lt=last.fetched_at) | Q(url_id__lt=last.pk))
        if last
        else Q()
    )
    found: list[Page] = []
    # without a filter the index has them in order
    with time_limit() if wanted else nullcontext():
        for part in wanted.parts(run):
            found += (
                part.filter(is_older)
                .select_related("url")
                .order_by("-fetched_at", "-url_id")[: most + 1]
            )
    found.sort(key=lambda page: (page.fetched_at, page.pk), reverse=True)
    return PageWindow(*cut(found, most, lambda page: page.pk))
