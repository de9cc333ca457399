"""Store, find and delete a user's views of the list of crawls."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.http import QueryDict

from crawling.base.errors import CrawlError
from crawling.models import DeletedItem, DeletedKind, SavedView
from crawling.runs.crawls.deleted_items import keep_deleted

MOST_VIEWS = 30
#: the parameters of the list's address that a view stores; the page number is not among them
PARTS = ("state", "q", "tag", "owner", "team", "sort")


class BadView(CrawlError):
    """The view cannot be saved."""


def visible_views(user: User) -> Sequence[SavedView]:
    """The user's own views, then those that others share, each by name."""
    seen = SavedView.objects.filter(Q(user=user) | Q(is_shared=True)).select_related("user")
    return sorted(seen, key=lambda view: (view.user_id != user.pk, view.name))


def save_view(user: User, name: str, query: str, *, is_shared: bool = False) -> SavedView:
    """Save the list's address under a name. An earlier view of the user with that name is replaced.
    is_shared: whether all users see it.

    Raises BadView.
    """
    name = " ".join(name.split())
    longest = SavedView._meta.get_field("name").max_length
    if not name or not name.isprintable() or len(name) > (longest or 0):
        raise BadView(f"Give the view a name of one to {longest} characters.")
    wanted = QueryDict(query)
    kept = QueryDict(mutable=True)
    kept.update({part: wanted[part] for part in PARTS if wanted.get(part)})
    if not kept:
        raise BadView("Filter, search or sort the list first; then there is something to save.")
    if SavedView.objects.filter(user=user).exclude(name=name).count() >= MOST_VIEWS:
        raise BadView(f"You have {MOST_VIEWS} views; forget one first.")
    view, _ = SavedView.objects.update_or_create(
        user=user, name=name, defaults={"query": kept.urlencode()[:1000], "is_shared": is_shared}
    )
    return view


@transaction.atomic
def forget_view(user: User, pk: int) -> DeletedItem | None:
    """Delete one of the user's own views, which can be restored for a while."""
    view = SavedView.objects.select_for_update().filter(user=user, pk=pk).first()
    if view is None:
        return None
    content = {"query": view.query, "is_shared": view.is_shared}
    item = keep_deleted(DeletedKind.VIEW, view.name, content, by=user, owner=user)
    view.delete()
    return item
