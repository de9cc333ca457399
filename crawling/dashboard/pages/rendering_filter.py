"""The states of rendering by which pages are listed and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from django.db.models import BigIntegerField, OuterRef, Q, Subquery, TextChoices
from ninja import Query

from crawling.models import Page, Run
from crawling.models.pages import IS_RENDERED, IS_UNRENDERED, LACKS_BROWSER
from serving.paging import MOST_NUMBERED, BoundedCount, as_bounded

#: of the pages of a run: if as many need a browser, a user is told
LACKING_SHARE = 0.1


class RenderingFilter(TextChoices):
    RENDERED = "rendered", "rendered"
    UNRENDERED = "unrendered", "not rendered"
    #: needs a browser, and was not rendered
    LACKING = "lacking", "lacking a browser"
    ENDED = "ended", "ended by a limit"
    #: failed requests or errors in the console
    FAULTS = "faults", "with faults"

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


@dataclass(frozen=True)
class RenderingSummary:
    """The numbers of pages by how they were rendered, for the overview of their run."""

    #: by the value of a RenderingFilter
    counts: Mapping[str, int]
    #: all pages of the run
    pages: int
    may_render: bool

    @classmethod
    def of(cls, run: Run, *, pages: int) -> RenderingSummary:
        return cls(rendering_counts(run), pages, run.crawl.order.rendering.may_render)

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Value, words and count of each state; of an order that renders nothing, only of those
        that pages have.
        """
        is_all = self.may_render and any(self.counts.values())
        return [
            (value, label, f"{self.counts[value]:,}")
            for value, label in RenderingFilter.choices
            if self.counts[value] or is_all
        ]

    @property
    def lacking(self) -> int:
        return self.counts[RenderingFilter.LACKING]

    @property
    def is_warned_of(self) -> bool:
        """Whether many pages need a browser, and the order renders none."""
        is_many = self.lacking >= LACKING_SHARE * self.pages or isinstance(
            self.lacking, BoundedCount
        )
        return self.lacking > 0 and is_many and not self.may_render

    @property
    def lacking_in_words(self) -> str:
        return f"{self.lacking:,} page{'s need' if self.lacking != 1 else ' needs'} a browser"
