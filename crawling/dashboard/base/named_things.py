"""Things of uses of crawls that have a name and a page, for the search in all things (Ctrl-K). A
use offers their kinds as `FOUND_BY_NAME` in its module `pages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db.models import QuerySet

from crawling.base.use import offered_by_uses

#: the most things of each kind
MOST = 5


class NamedKind(NamedTuple):
    label: str
    #: returns all of them; each has a `name`
    rows: Callable[[], QuerySet[Any]]
    page: Callable[[Any], str]
    #: the permission for its page
    needs: str = "crawling.view_crawljob"


@dataclass(frozen=True)
class NamedThing:
    kind: str
    name: str
    path: str


def named_things(text: str, user: User) -> Iterator[NamedThing]:
    """The things whose name contains the text; the things of each kind are sorted by name."""
    for kind in offered_by_uses("pages", "FOUND_BY_NAME"):
        if user.has_perm(kind.needs):
            for one in kind.rows().filter(name__icontains=text).order_by("name", "pk")[:MOST]:
                yield NamedThing(kind.label, one.name, kind.page(one))
