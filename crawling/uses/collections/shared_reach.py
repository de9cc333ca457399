"""The stored pages that a share link opens: those of its collection's crawls, and the collection's
single pages. A page of another crawl, a page of a deleted run and a withdrawn page cannot be
opened, even by its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from crawling.archive.captures import captures_of
from crawling.installation.permissions import crawls_acted_on
from crawling.models import Page, Run
from crawling.uses.collections.members import MemberRow, member_rows
from crawling.uses.collections.models import Collection, CollectionLink


@dataclass(frozen=True)
class SharedReach:
    collection: Collection
    #: the crawls, with all their runs; the link's creator may act on each of them
    crawls: frozenset[int]
    #: the single pages of such crawls, each with its crawl
    singles: dict[int, int]

    def members(self) -> list[MemberRow]:
        return member_rows(self.collection, of_crawls=self.crawls | {*self.singles.values()})

    def opens(self, page: Page) -> bool:
        """Whether the link opens this page. The page's run must not be deleted."""
        return page.run.crawl_id in self.crawls or page.pk in self.singles

    def page(self, number: int) -> Page | None:
        pages = self._pages().select_related("url", "run__crawl", "archive_file")
        found = pages.filter(pk=number).first()
        return found if found and self.opens(found) else None

    def runs(self, crawl: int) -> QuerySet[Run]:
        """The runs of a crawl, the latest first; none if the link does not open the crawl."""
        known = self.crawls & {crawl}
        runs = Run.objects.filter(crawl__in=known, crawl__removal_asked_at=None)
        return runs.select_related("crawl").order_by("-number")

    def captures(self, url: str) -> Sequence[Page]:
        """The captures of a canonical URL, the latest first."""
        crawls = self.crawls | {*self.singles.values()}
        return [one for one in reversed(captures_of(url, crawls=crawls)) if self.opens(one)]

    def _pages(self) -> QuerySet[Page]:
        shown = {"run__removal_asked_at": None, "run__crawl__removal_asked_at": None}
        return Page.objects.filter(archive_file__isnull=False, **shown)


def reach_of(link: CollectionLink) -> SharedReach:
    members = link.collection.members.filter(crawl__removal_asked_at=None)
    rows = list(members.values_list("crawl", "page"))
    own = crawls_acted_on(link.created_by, {crawl for crawl, _ in rows})
    return SharedReach(
        link.collection,
        frozenset(crawl for crawl, page in rows if page is None and crawl in own),
        {page: crawl for crawl, page in rows if page is not None and crawl in own},
    )
