from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crawling.base.alert_events import AlertEvent
from crawling.base.use import Use

if TYPE_CHECKING:
    from crawling.models import CrawlJob, Run
    from crawling.orders.scope.url_rules import UrlRule

ENDS = (AlertEvent.FINISHED, AlertEvent.STOPPED, AlertEvent.FAILED)


class LinkCheckConfig(Use):
    name = "crawling.uses.link_check"
    verbose_name = "Link check"

    def ready(self) -> None:
        from crawling.installation.events import alerted, pages_withdrawn, run_read
        from crawling.uses.link_check.jobs import request_new_counts

        alerted.connect(count_problems_at_end)
        run_read.connect(request_new_counts)
        pages_withdrawn.connect(delete_counts_of_withdrawn)


def count_problems_at_end(
    run: Run, event: AlertEvent, sentence: str, more: Mapping[str, Any], page: str
) -> None:
    if event in ENDS:
        from crawling.uses.link_check.jobs import request_broken_count

        request_broken_count(run)


def delete_counts_of_withdrawn(crawl: CrawlJob, rule: UrlRule) -> None:
    """Remove alerts about broken links, which quote addresses of withdrawn pages."""
    from crawling.installation.events import page_alerts_withdrawn
    from crawling.uses.link_check.models import BrokenLinks

    if BrokenLinks.objects.filter(run__crawl=crawl, broken__gt=0).exists():
        page_alerts_withdrawn(crawl)
