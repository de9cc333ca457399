"""The form that edits a crawl's rules, at any time."""

from __future__ import annotations

from typing import Any

from crawling.crawls.creation import order_of
from crawling.crawls.revisions import ASKING, OF_THE_CRAWL
from crawling.dashboard.orders.forms.create import ASKED as ASKED_OF_NEW
from crawling.dashboard.orders.forms.fields import OrderForm, fill_in, lines_field
from crawling.models import CrawlJob
from crawling.orders.order import PARTS

EDITED = ("filters", "budget", "thresholds", "politeness")
#: an order's fields that the form asks for; weights are edited by the command line or the API
ASKED = tuple(
    one
    for one in ASKED_OF_NEW
    if one.name in (*OF_THE_CRAWL, *ASKING)
    or any(one.name in PARTS[part].model_fields for part in EDITED)
)


class EditForm(OrderForm):
    """The questions about an existing crawl.

    `urls` is for the tester, and no part of the order.
    """

    urls = lines_field(
        "Addresses to test",
        "One a line, at most 500. Nothing is fetched, and nothing is saved.",
        rows=4,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, asked=ASKED, **kwargs)

    def as_changes(self) -> dict[str, Any]:
        """All fields that are asked for, unchecked; what was left empty has its default."""
        return {one.name: one.default for one in self.asked} | self.order_answers()


def edit_answers(crawl: CrawlJob) -> dict[str, Any]:
    """The form as the order stands."""
    return fill_in(ASKED, order_of(crawl), masked=True)
