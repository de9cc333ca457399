"""Events of crawls, for uses of crawls that keep data about them.

Receivers run in the act that sends the event, and an error of one ends the act. Edits, withdrawals
and alerts are transactions, which it rolls back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, ParamSpec

from django.contrib.auth.models import User

from crawling.base.alert_events import AlertEvent
from crawling.models import CrawlJob, Run
from crawling.orders.scope.url_rules import UrlRule

P = ParamSpec("P")


class CrawlEvent(Generic[P]):
    """An event happens when it is called; its receivers are called in the order of connecting."""

    def __init__(self) -> None:
        self._receivers: list[Callable[P, object]] = []

    def connect(self, receiver: Callable[P, object]) -> None:
        # Django makes an app ready anew wherever the list of installed ones changes
        if receiver not in self._receivers:
            self._receivers.append(receiver)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for receiver in self._receivers:
            receiver(*args, **kwargs)


#: the order of a crawl was edited
order_edited: CrawlEvent[[CrawlJob]] = CrawlEvent()
#: the pages of a crawl that a rule covers were withdrawn
pages_withdrawn: CrawlEvent[[CrawlJob, UrlRule]] = CrawlEvent()
#: Alerts about pages of a crawl may quote withdrawn ones.
page_alerts_withdrawn: CrawlEvent[[CrawlJob]] = CrawlEvent()
#: records of withdrawn pages were removed from the files; called, it has the ids of their URLs
records_removed: CrawlEvent[[Callable[[], Iterator[int]]]] = CrawlEvent()
#: texts of stored pages were read again
texts_read: CrawlEvent[[]] = CrawlEvent()
#: an account is deleted, by the second user; it has its e-mail address still
account_deleted: CrawlEvent[[User, User]] = CrawlEvent()
#: all pages of a run that has ended were read again
run_read: CrawlEvent[[Run]] = CrawlEvent()


#: facts beside the sentence, and where they are shown
alerted: CrawlEvent[[Run, AlertEvent, str, Mapping[str, Any], str]] = CrawlEvent()


def alert(
    run: Run,
    event: AlertEvent,
    sentence: str,
    *,
    more: Mapping[str, Any] | None = None,
    page: str = "",
) -> None:
    """To be called in the transaction of the event.

    more: facts; "diff" is shown as lines. page: where they are shown; "" for the crawl's page.
    """
    alerted(run, event, sentence, more or {}, page)
