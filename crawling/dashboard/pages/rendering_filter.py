"""The states of rendering by which pages are listed and counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from django.db.models import BigIntegerField, OuterRef, Q, Subquery, TextChoices
from ninja import Query

from crawling.models import Page, Run
from crawling.models.pages import IS_RENDERED, IS_UNRENDERED, LACKS_BROWSER
from serving.paging import MOST_NUMBERED, as_bounded


class RenderingFilter(TextChoices):
    RENDERED = "rendered", "rendered"
    UNRENDERED = "unrendered", "not rendered"
    LACKING = "lacking", "needs a browser, not rendered"
    ENDED = "ended", "ended by a limit"
    FAULTS = "faults", "failed requests or console errors"

    @property
    def condition(self) -> Q:
        return CONDITIONS[self]


CONDITIONS = {
    RenderingFilter.RENDERED: IS_RENDERED,
    RenderingFilter.UNRENDERED: IS_UNRENDERED,
    RenderingFilter.LACKING: LACKS_BROWSER,
    RenderingFilter.ENDED: Q(rendering__lt=0),
    RenderingFilter.FAULTS: Q(rendition__has_faults=True),
}
RenderingName = Annotated[
    Literal["", *RenderingFilter.values],  # type: ignore[valid-type]
    Query(
        description="only pages that a browser rendered (`rendered`), did not render "
        "(`unrendered`), did not render although they need it (`lacking`), or began to render and "
        "ended at a limit (`ended`), or rendered pages with failed requests or errors in the "
        "console (`faults`)",
    ),
]


class _RowCount(Subquery):
    template = "(SELECT count(*) FROM (%(subquery)s) AS found)"
    output_field = BigIntegerField()


def rendering_counts(run: Run) -> Mapping[str, int]:
    """The number of the run's pages in each state, by its value; a BoundedCount if there are very
    many. Takes one query.
    """
    pages = Page.objects.filter(run=OuterRef("pk")).order_by().values("run")
    counted = [
        _RowCount(pages.filter(kind.condition)[: MOST_NUMBERED + 1]) for kind in RenderingFilter
    ]
    counts = Run.objects.filter(pk=run.pk).values_list(*counted).get()
    return dict(zip(RenderingFilter.values, map(as_bounded, counts), strict=True))
