"""How much of what a run has received it had before: pages whose content another page of the run
had first.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Sum

from crawling.models import Page, Run

#: copies that are added up; the page of a crawl is asked for every two seconds
MOST = 20_000


@dataclass(frozen=True)
class ContentCopies:
    """`bytes` of the first MOST copies; `are_more`: there are others."""

    pages: int
    bytes: int

    @property
    def are_more(self) -> bool:
        return self.pages >= MOST


def copies_of(run: Run) -> ContentCopies:
    found = Page.objects.filter(run=run, duplicate_of__isnull=False)[:MOST].aggregate(
        pages=Count("pk"), bytes=Sum("bytes", default=0)
    )
    return ContentCopies(**found)
