"""The stored pages of a crawl by their addresses. A page is taken from the run at hand; if that run
does not have it, from the run that fetched the address at the nearest time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import F, Q
from django.db.models.functions import Abs, Extract

from crawling.models import Page, Run
from crawling.web.addresses import fingerprint, signed_64_bits
from crawling.web.statuses import DOCUMENT_STATUSES, is_redirect

#: the most redirects of a chain that are followed
MOST_STEPS = 5
#: the most other runs that are searched, beginning with the nearest in time
MOST_RUNS = 20
HAS_DOCUMENT = Q(status__in=DOCUMENT_STATUSES) | Q(status__range=(300, 399))


class StoredPages:
    """Finds stored pages. Withdrawn pages, and pages of runs that are being deleted, are left
    out.
    """

    def __init__(self, near: Page) -> None:
        self._near = near
        self._others: list[int] | None = None

    def of(self, urls: Collection[str]) -> dict[str, Page]:
        """The pages with the documents of canonical URLs; redirects are followed."""
        found = dict[str, Page]()
        asked = {url: url for url in urls}
        for _ in range(MOST_STEPS):
            pages = self.first(set(asked.values()))
            moved = dict[str, str]()
            for url, at in asked.items():
                page = pages.get(at)
                if page is None:
                    continue
                if is_redirect(page.status):
                    moved[url] = page.final_url
                elif page.status in DOCUMENT_STATUSES:
                    found[url] = page
            if not moved:
                break
            asked = moved
        return found

    def first(self, urls: Collection[str]) -> dict[str, Page]:
        """The pages of canonical URLs; they may be redirects."""
        found = {page.url.url: page for page in _pages_in([self._near.run_id], urls)}
        if missing := set(urls) - found.keys():
            away = Abs(Extract(F("fetched_at") - self._near.fetched_at, "epoch"))
            for page in _pages_in(self._other_runs(), missing, nearest_by=away):
                found[page.url.url] = page
        return found

    def _other_runs(self) -> list[int]:
        if self._others is None:
            here = self._near.run_id
            runs = Run.objects.filter(crawl=self._near.run.crawl_id, removal_asked_at=None)
            ids = runs.exclude(pk=here).values_list("pk", flat=True)
            self._others = sorted(ids, key=lambda pk: abs(pk - here))[:MOST_RUNS]
        return self._others


def _pages_in(
    runs: Collection[int], urls: Collection[str], *, nearest_by: Abs | None = None
) -> Iterable[Page]:
    """The pages in these runs. nearest_by: an expression; of each address only the page with its
    least value is taken, since twenty runs may each have thousands of pages.
    """
    marks = [signed_64_bits(fingerprint(url)) for url in urls]
    if not (runs and marks):
        return []
    found = Page.objects.filter(HAS_DOCUMENT, url__run__in=runs, url__fingerprint__in=marks)
    if nearest_by is not None:
        one = ("url__fingerprint", "url__url")
        found = found.order_by(*one, nearest_by, "pk").distinct(*one)
    wanted = set(urls)
    joined = found.select_related("url", "archive_file", "run__crawl")
    return (page for page in joined if page.url.url in wanted)
