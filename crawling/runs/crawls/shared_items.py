"""Share links and the like, which users have opened to people without an account. Each stops with
the account of its maker, unless another user takes it over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User

from crawling.base.use import offered
from crawling.models import CrawlJob
from crawling.runs.crawls.share_links import hand_link_over, share_links_by


@dataclass(frozen=True)
class SharedKind:
    """One kind of it; a use of crawls offers others as `SHARED` in its module `pages`."""

    name: str
    #: the route of the page of a crawl that has them
    route: str
    #: rows with a `crawl` that a user has made
    by: Callable[[User], Iterable[Any]]
    #: lets a row be another user's: row, receiver, who does so
    hand_over: Callable[[Any, User, User], None]


@dataclass(frozen=True)
class SharedItem:
    """One row of a kind."""

    kind: SharedKind
    row: Any

    @property
    def crawl(self) -> CrawlJob:
        crawl: CrawlJob = self.row.crawl
        return crawl


SHARE_LINK = SharedKind(
    "share link",
    "crawling:share",
    share_links_by,
    lambda link, receiver, by: hand_link_over(link, receiver, by=by),
)


def shared_items(user: User) -> list[SharedItem]:
    kinds = (SHARE_LINK, *offered("pages", "SHARED"))
    return [SharedItem(kind, row) for kind in kinds for row in kind.by(user)]
