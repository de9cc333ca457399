"""Keep count of the pages that several crawls want."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from crawling.frontier.rules.hotspots import LEAST_COUNT, heat_of, heated
from crawling.models import HotPage
from crawling.web.addresses import fingerprint


def count_wanted(pages: Mapping[str, bool], now: datetime) -> None:
    """Count pages by URL; True: another crawl's was taken.

    In a short transaction of its own: all crawls write here.
    """
    marks = {fingerprint(url): url for url in pages}
    at = now.timestamp()
    with transaction.atomic():
        HotPage.objects.bulk_create(
            (
                HotPage(
                    fingerprint=mark, url=marks[mark], heat=0, wanted=0, reused=0, wanted_at=now
                )
                for mark in sorted(marks)
            ),
            ignore_conflicts=True,
        )
        rows = list(
            HotPage.objects.select_for_update(no_key=True)
            .filter(fingerprint__in=marks)
            .order_by("fingerprint")
        )
        for row in rows:
            row.heat = heated(row.heat if row.wanted else None, at)
            row.wanted, row.reused, row.wanted_at = (
                row.wanted + 1,
                row.reused + pages.get(row.url, False),
                now,
            )
        HotPage.objects.bulk_update(rows, ["heat", "wanted", "reused", "wanted_at"])


def forget_cold(now: datetime) -> None:
    """Drop the pages that nobody wants any more."""
    HotPage.objects.filter(heat__lt=heat_of(LEAST_COUNT, now.timestamp())).delete()
