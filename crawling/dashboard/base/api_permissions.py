"""Who asks, and what they may."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest

V = TypeVar("V")


class CrawlApiRequest(HttpRequest):
    """A request as endpoints get it: somebody is logged in."""

    user: User


def needs(permission: str) -> Callable[[V], V]:
    """Django's own check. (Its types know only views that answer an HttpResponse.)"""
    return cast("Callable[[V], V]", permission_required(permission, raise_exception=True))


may_view = needs("crawling.view_crawljob")
may_add = needs("crawling.add_crawljob")
may_change = needs("crawling.change_crawljob")
may_delete = needs("crawling.delete_crawljob")
