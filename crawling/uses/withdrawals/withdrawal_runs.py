"""The runs of a withdrawal, and the pages that it takes over from an earlier withdrawal."""

from __future__ import annotations

from django.db.models import QuerySet

from crawling.models import CrawlJob, Run, Withdrawal, WithdrawnPage


def runs_of_withdrawal(crawl: CrawlJob, run: Run | None) -> QuerySet[Run]:
    """The runs, including deleted ones that can be restored."""
    runs = Run.all_objects.filter(crawl=crawl)
    return runs.filter(pk=run.pk) if run else runs


def take_over_pages(withdrawal: Withdrawal) -> None:
    """Move the pages of earlier withdrawals that this withdrawal also covers to it. Their records
    are then removed with its own, and they stay withdrawn if an earlier withdrawal is undone.
    """
    rows = WithdrawnPage.objects.filter(
        run__in=runs_of_withdrawal(withdrawal.crawl, withdrawal.run),
        withdrawal__lt=withdrawal.pk,
        content__isnull=False,
    ).values_list("pk", "url__url")
    covered = [pk for pk, url in rows.iterator() if withdrawal.rule.covers(url)]
    WithdrawnPage.objects.filter(pk__in=covered).update(withdrawal=withdrawal)
