"""The runs that a withdrawal is of, and pages that it takes over from an earlier one."""

from __future__ import annotations

from django.db.models import QuerySet

from crawling.models import CrawlJob, Run, Withdrawal, WithdrawnPage


def runs_of(crawl: CrawlJob, run: Run | None) -> QuerySet[Run]:
    """The runs, with those that are deleted and can be restored."""
    runs = Run.all_objects.filter(crawl=crawl)
    return runs.filter(pk=run.pk) if run else runs


def take_over(withdrawal: Withdrawal) -> None:
    """Let pages that an earlier withdrawal took out, and that this one covers, too, be of this one:
    their records go with its own, and they stay withdrawn when the earlier one is undone.
    """
    rows = WithdrawnPage.objects.filter(
        run__in=runs_of(withdrawal.crawl, withdrawal.run),
        withdrawal__lt=withdrawal.pk,
        content__isnull=False,
    ).values_list("pk", "url__url")
    covered = [pk for pk, url in rows.iterator() if withdrawal.rule.covers(url)]
    WithdrawnPage.objects.filter(pk__in=covered).update(withdrawal=withdrawal)
