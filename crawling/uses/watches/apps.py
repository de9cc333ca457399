from __future__ import annotations

from typing import TYPE_CHECKING

from crawling.base.use import Use

if TYPE_CHECKING:
    from crawling.models import CrawlJob
    from crawling.orders.scope.url_rules import UrlRule


class WatchesConfig(Use):
    name = "crawling.uses.watches"
    verbose_name = "Watches"

    def ready(self) -> None:
        from crawling.installation.events import pages_withdrawn

        pages_withdrawn.connect(forget_withdrawn)


def forget_withdrawn(crawl: CrawlJob, rule: UrlRule) -> None:
    # the import loads a parser, which most processes do not need
    from crawling.uses.watches.watching import delete_events_of_withdrawn as forget

    forget(crawl, rule)
