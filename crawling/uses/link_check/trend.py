"""The trend of broken links over the runs of a crawl: how many are new, fixed and still broken in
each run. Also the alerts of new and fixed links. A background job counts them once a run has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from allocation.wording import beginning_of_list
from crawling.base.alert_events import AlertEvent
from crawling.installation.events import alert
from crawling.installation.news import count_in_words
from crawling.models import CrawlJob, Run, RunTotal, UrlState
from crawling.models.jobs import ENDED_STATES
from crawling.uses.link_check.coverage import coverage_of
from crawling.uses.link_check.models import BrokenLinks
from crawling.uses.link_check.tried import JOINED, KNOWN, UnknownUrls, unknown_urls
from crawling.web.secret_headers import masked_url
from serving.listing.columns import Column

#: the time limit in seconds of each query that finds what another run did not try
SECONDS = 60
#: the number of runs that pages show
MOST_RUNS = 12
#: the height of the drawing, the width of a bar, and the distance between two bars
HEIGHT, BAR, STEP = 60, 16, 24
#: the number of addresses in the text of a message, and the most in its data
URLS_TOLD, MOST_URLS = 5, 100
FAILED = f"url.run_id = %(run)s AND url.state = '{UrlState.FAILED}'"
NOT_FAILED = f"(met.id IS NULL OR met.state <> '{UrlState.FAILED}')"
COUNT = f"""
SELECT count(*), count(*) FILTER (WHERE {NOT_FAILED} AND {KNOWN}),
    count(*) FILTER (WHERE NOT {KNOWN})
FROM {JOINED} WHERE {FAILED}
"""  # noqa: S608  # constants
FIRST = f"""
SELECT url.url FROM {JOINED}
WHERE {FAILED} AND {NOT_FAILED} AND {KNOWN} ORDER BY url.id LIMIT %(most)s
"""  # noqa: S608  # constants
LINKS_PAGE = "/crawls/{}/links/?run={}&kind=broken&change={}&against={}"


@dataclass(frozen=True)
class BrokenTrend:
    """The broken links of one run."""

    run: Annotated[int, Column("its number")]
    against: Annotated[int | None, Column("number of the run before it; null: there is none")]
    ended_at: datetime
    broken: Annotated[int, Column("addresses that failed")]
    new: Annotated[int, Column("of them, those that the run before tried, or had no link to")]
    fixed: Annotated[int, Column("failed in the run before; answered in this one, or not linked")]
    still: Annotated[int, Column("failed in both")]
    not_tried: Annotated[int, Column("failed in the run before, and not tried in this one")]
    not_tried_before: Annotated[int, Column("of the broken, those that it had not tried")]


def count_broken(run: Run) -> BrokenLinks | None:
    """Count the broken links of a run, compared with the run before it, and alert of new and fixed
    ones. Safe to repeat. Return None if the run was deleted or continues.
    """
    old = previous_run(run)
    held = unknown_urls(run, old, seconds=SECONDS)
    held_of_old = unknown_urls(old, run, seconds=SECONDS) if old else UnknownUrls()
    broken, new, not_tried_before = _trend_counts(run, old, held)
    _, fixed, not_tried = _trend_counts(old, run, held_of_old) if old else (0, 0, 0)
    facts = {"against": old, "broken": broken, "new": new if old else 0, "fixed": fixed}
    facts |= {"not_tried": not_tried, "not_tried_before": not_tried_before}
    with transaction.atomic():
        same = Run.objects.select_for_update(no_key=True).filter(pk=run.pk)
        if not same.filter(state__in=ENDED_STATES, removal_asked_at=None).exists():
            return None
        known = BrokenLinks.objects.filter(run=run).first()
        row = known or BrokenLinks(run=run)
        told = (row.new, row.fixed)
        for name, value in facts.items():
            setattr(row, name, value)
        if (row.new, row.fixed) != told or known is None:
            row.found_at = timezone.now()
            row.save()
            _notify_of_changes(run, row, held, held_of_old)
        else:
            row.save()
    return row


def store_no_broken_links(run: Run) -> None:
    """Store zeros for a run of a crawl in which no URL has ever failed."""
    facts = {"against": previous_run(run), "broken": 0, "new": 0, "fixed": 0}
    BrokenLinks.objects.update_or_create(run=run, defaults={**facts, "found_at": timezone.now()})


def has_failures(run: Run) -> bool:
    """Whether any run of the crawl has a failed URL."""
    return RunTotal.objects.filter(run__crawl=run.crawl_id, failed__gt=0).exists()


def trend_of(crawl: CrawlJob) -> QuerySet[BrokenLinks]:
    return BrokenLinks.objects.filter(run__crawl=crawl, run__removal_asked_at=None).select_related(
        "run__crawl", "against"
    )


def trend_row(row: BrokenLinks) -> BrokenTrend:
    old, ended = row.against, row.run.finished_at or row.found_at
    number = old.number if old else None
    told = (row.broken, row.new, row.fixed, row.still, row.not_tried, row.not_tried_before)
    return BrokenTrend(row.run.number, number, ended, *told)


class TrendBar(NamedTuple):
    """A run's bar in the drawing: from the top, the new broken links and those still broken."""

    row: BrokenLinks
    x: int
    top: int
    new: int
    still: int

    @property
    def middle(self) -> int:
        return self.top + self.new


def trend_bars(rows: Sequence[BrokenLinks]) -> list[TrendBar]:
    """The bars, the oldest first. rows: the latest first. A bar with a number above zero has at
    least one pixel.
    """
    most = max([row.broken for row in rows], default=0) or 1
    bars = []
    for number, row in enumerate(reversed(rows)):
        new, still = (
            max(1, round(HEIGHT * part / most)) if part else 0 for part in (row.new, row.still)
        )
        still = min(still, HEIGHT - new)
        bars.append(TrendBar(row, STEP * number, HEIGHT - new - still, new, still))
    return bars


def links_page(row: BrokenLinks, change: str) -> str:
    """The path of the page with new, or fixed, problems."""
    run, against = row.run, row.against.number if row.against else ""
    return LINKS_PAGE.format(run.crawl_id, run.number, change, against)


def previous_run(run: Run) -> Run | None:
    """The latest earlier run that is complete; a stopped run shows too little."""
    earlier = Run.objects.filter(crawl=run.crawl_id, number__lt=run.number, state="finished")
    return earlier.filter(removal_asked_at=None).order_by("-number").first()


def _trend_counts(run: Run, other: Run | None, held: UnknownUrls) -> tuple[int, int, int]:
    """The number of failed URLs of a run; of those that did not fail in the other run; and of those
    that the other run did not try. held: from `unknown_urls`.
    """
    with connection.cursor() as cursor:
        values = {"run": run.pk, "other": other.pk if other else None}
        cursor.execute(COUNT, values | held.values)
        failed, only, not_tried = cursor.fetchone()
    return failed, only, not_tried


def _notify_of_changes(
    run: Run, row: BrokenLinks, held: UnknownUrls, held_of_old: UnknownUrls
) -> None:
    """Send one message about new broken links, and one about fixed links. held, held_of_old: the
    failed addresses of each run that the other run did not try.
    """
    old = row.against
    if old is None or not (row.new or row.fixed):
        return
    unchecked = coverage_of(run).unchecked
    for event, count, change, one, other, unsaid in (
        (AlertEvent.LINKS_BROKEN, row.new, "new", run, old, held),
        (AlertEvent.LINKS_FIXED, row.fixed, "mended", old, run, held_of_old),
    ):
        if count:
            urls = [masked_url(url) for url in _first_urls(one, other, unsaid)]
            sentence = f"{count_in_words(event, count)} since run {old.number}: "
            sentence += f"{beginning_of_list(urls, URLS_TOLD)}."
            sentence = " ".join(filter(None, (sentence, unchecked.sentence)))
            facts = {"urls": urls, "count": count, "unchecked": asdict(unchecked)}
            alert(run, event, sentence, more=facts, page=links_page(row, change))


def _first_urls(run: Run, other: Run, held: UnknownUrls) -> Sequence[str]:
    asked: dict[str, Any] = {"run": run.pk, "other": other.pk, "most": MOST_URLS}
    with connection.cursor() as cursor:
        cursor.execute(FIRST, asked | held.values)
        return [url for (url,) in cursor.fetchall()]
