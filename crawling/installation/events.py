"""Events of crawls, for uses of crawls that keep data about them.

Receivers run within the action that sends the event, and an error in one ends that action. Edits,
withdrawals and alerts are transactions, which such an error rolls back.
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
    """An event, which is sent by calling it. Its receivers are called in the order in which they
    were connected.
    """

    def __init__(self) -> None:
        self._receivers: list[Callable[P, object]] = []

    def connect(self, receiver: Callable[P, object]) -> None:
        # Django calls an app's `ready` again whenever the list of installed apps changes
        if receiver not in self._receivers:
            self._receivers.append(receiver)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for receiver in self._receivers:
            receiver(*args, **kwargs)


#: the order of a crawl was edited
order_edited: CrawlEvent[[CrawlJob]] = CrawlEvent()
#: pages of a crawl were withdrawn, namely those that a rule covers
pages_withdrawn: CrawlEvent[[CrawlJob, UrlRule]] = CrawlEvent()
#: alerts about pages of a crawl must be withdrawn, since they may quote withdrawn pages
page_alerts_withdrawn: CrawlEvent[[CrawlJob]] = CrawlEvent()
#: records of withdrawn pages were removed from the files; the function returns the ids of their
#: URLs
records_removed: CrawlEvent[[Callable[[], Iterator[int]]]] = CrawlEvent()
#: texts of stored pages were read again
texts_read: CrawlEvent[[]] = CrawlEvent()
#: an account is being deleted, by the second user; it still has its e-mail address
account_deleted: CrawlEvent[[User, User]] = CrawlEvent()
#: all pages of an ended run were read again
run_read: CrawlEvent[[Run]] = CrawlEvent()


#: an event of a run with its sentence, further facts, and the page that shows them
alerted: CrawlEvent[[Run, AlertEvent, str, Mapping[str, Any], str]] = CrawlEvent()


def alert(
    run: Run,
    event: AlertEvent,
    sentence: str,
    *,
    more: Mapping[str, Any] | None = None,
    page: str = "",
) -> None:
    """Send an alert, in the transaction of the event.

    more: facts; "diff" is shown as lines. page: the page that shows them; "" for the crawl's page.
    """
    alerted(run, event, sentence, more or {}, page)
