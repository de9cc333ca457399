"""Deleted items of every kind that can be restored: list, restore, delete permanently. A use of
crawls offers the kinds of its own rows as `RESTORABLE` in its module `pages`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from operator import attrgetter
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.utils import timezone

from crawling.base.errors import NotFound, WrongState
from crawling.base.use import offered_by_uses
from crawling.installation.permissions import crawls_acted_on, is_restricted, require_act
from crawling.models import CrawlJob, DeletedItem, DeletedKind, Run
from crawling.models.deleted import RESTORABLE
from crawling.runs.crawls.restored_items import remove_item, restore_item
from crawling.runs.housekeeping.deletion import (
    remove_crawl_now,
    remove_run_now,
    restore_crawl,
    restore_run,
)
from serving.access import require

#: the most rows of each kind, the latest first
SHOWN = 200
#: the permission to restore an item of each kind, which is also the one to delete it
PERMISSIONS: Mapping[str, str] = {
    DeletedKind.CRAWL: "crawling.delete_crawljob",
    DeletedKind.RUN: "crawling.delete_crawljob",
    DeletedKind.TEMPLATE: "crawling.delete_crawljob",
    DeletedKind.VIEW: "crawling.view_crawljob",
    DeletedKind.SCHEDULE: "crawling.change_crawljob",
    DeletedKind.BLOCKLIST: "crawling.delete_blocklistentry",
}
OF_ANOTHER = "Another user deleted this template: that user restores it, or an administrator."
OF_OTHERS = "This {} is of another user: its owner restores it, or an administrator."
RESTORE_BY_ID: Mapping[str, Callable[..., object]] = {
    DeletedKind.CRAWL: restore_crawl,
    DeletedKind.RUN: restore_run,
}
REMOVE_BY_ID: Mapping[str, Callable[..., None]] = {
    DeletedKind.CRAWL: remove_crawl_now,
    DeletedKind.RUN: remove_run_now,
}


@dataclass(frozen=True)
class DeletedRow:
    kind: str
    id: int
    """of the crawl, the run or the deleted item"""
    name: str
    deleted_at: datetime
    restorable_until: datetime
    crawl: CrawlJob | None = None
    """that it is, or is of"""
    deleted_by: int | None = None
    """the user, of a template"""
    may_act: bool = True
    """whether the user may act on it; where it is of a crawl, that decides, too"""
    is_removable: bool = True
    """whether it can be deleted permanently before its time"""


class RestorableKind(NamedTuple):
    """A kind of things that keep their rows while they can be restored."""

    name: str
    #: the permission to restore one
    permission: str
    #: returns the rows that can be restored; takes the user (None for the command line) and
    #: conditions by name
    rows: Callable[..., Iterator[DeletedRow]]
    #: takes the id, and `by`; raises NotFound, WrongState, PermissionDenied
    restore: Callable[..., object]
    #: deletes one permanently; takes the id, and `by`; None if its row stays
    remove: Callable[..., object] | None = None
    #: the permission to see that one is deleted
    needs: str = ""


def restorable_kinds_of_uses() -> Mapping[str, RestorableKind]:
    """The kinds that uses of crawls offer, by name."""
    return {kind.name: kind for kind in offered_by_uses("pages", "RESTORABLE")}


def restorable_kinds() -> list[str]:
    return [*DeletedKind.values, *restorable_kinds_of_uses()]


def kept_row(kind: str, item_id: int, name: str, deleted_at: datetime, **facts: Any) -> DeletedRow:
    """The row of a thing that is restorable for the usual time."""
    return DeletedRow(kind, item_id, name, deleted_at, deleted_at + RESTORABLE, **facts)


def deleted_rows(user: User | None) -> list[DeletedRow]:
    """All items that can be restored and that the user may see, the latest deletions first.

    user: None for the command line. It gets no saved views, since each belongs to a user.
    """
    rows = chain(
        _crawls(),
        _runs(),
        _items(user),
        *(_visible_rows(kind, user) for kind in restorable_kinds_of_uses().values()),
    )
    return sorted(rows, key=attrgetter("deleted_at", "kind", "id"), reverse=True)


def _restorable() -> dict[str, Any]:
    # the second condition is also that of the indexes
    return {"restorable_until__gt": timezone.now(), "removal_asked_at__isnull": False}


def _crawls(**wanted: object) -> Iterator[DeletedRow]:
    crawls = CrawlJob.all_objects.filter(**_restorable(), **wanted).order_by("-removal_asked_at")
    for crawl in crawls.select_related("created_by")[:SHOWN]:
        yield _row(DeletedKind.CRAWL, crawl, crawl.name, crawl)


def _runs(**wanted: object) -> Iterator[DeletedRow]:
    # the schedule of a deleted crawl is restored together with it
    runs = Run.all_objects.filter(**_restorable(), crawl__removal_asked_at=None, **wanted)
    for run in runs.select_related("crawl__created_by").order_by("-removal_asked_at")[:SHOWN]:
        yield _row(DeletedKind.RUN, run, str(run), run.crawl)


def _items(user: User | None, **wanted: object) -> Iterator[DeletedRow]:
    theirs = Q(owner=None) | Q(owner=user) if user else Q(owner=None)
    since = timezone.now() - RESTORABLE
    items = DeletedItem.objects.filter(theirs, deleted_at__gt=since, **wanted)
    found = list(items.order_by("-pk")[:SHOWN])
    timed = [item.content["crawl"] for item in found if item.kind == DeletedKind.SCHEDULE]
    of_schedules = CrawlJob.all_objects.select_related("created_by").in_bulk(timed)
    for item in found:
        until = item.deleted_at + RESTORABLE
        row = DeletedRow(item.kind, item.pk, item.name, item.deleted_at, until)
        if item.kind == DeletedKind.SCHEDULE:
            row = replace(row, crawl=of_schedules.get(item.content["crawl"]))
        elif item.kind == DeletedKind.TEMPLATE:
            row = replace(row, deleted_by=item.deleted_by_id)
        yield row


def _visible_rows(
    kind: RestorableKind, user: User | None, **wanted: object
) -> Iterator[DeletedRow]:
    if user is None or not kind.needs or user.has_perm(kind.needs):
        yield from islice(kind.rows(user, **wanted), SHOWN)


def permission_of(kind: str) -> str:
    found = restorable_kinds_of_uses().get(kind)
    return found.permission if found else PERMISSIONS[kind]


def _row(kind: DeletedKind, thing: CrawlJob | Run, name: str, crawl: CrawlJob) -> DeletedRow:
    assert thing.removal_asked_at is not None
    assert thing.restorable_until is not None
    return DeletedRow(
        kind, thing.pk, name, thing.removal_asked_at, thing.restorable_until, crawl=crawl
    )


def restorable_rows(user: User) -> list[tuple[DeletedRow, bool]]:
    """All items that can be restored, each with whether the user may restore it."""
    rows = deleted_rows(user)
    own = crawls_acted_on(user, {row.crawl.pk for row in rows if row.crawl})
    restricted = is_restricted(user)
    return [
        (
            row,
            user.has_perm(permission_of(row.kind))
            and row.may_act
            and (row.crawl is None or row.crawl.pk in own)
            and not (restricted and row.deleted_by not in (None, user.pk)),
        )
        for row in rows
    ]


def find_deleted(kind: str, item_id: int, user: User | None) -> DeletedRow:
    """Raises NotFound."""
    if kind in RESTORE_BY_ID:
        found = (_crawls if kind == DeletedKind.CRAWL else _runs)(pk=item_id)
    elif of_use := restorable_kinds_of_uses().get(kind):
        found = _visible_rows(of_use, user, pk=item_id)
    else:
        found = _items(user, kind=kind, pk=item_id)
    row = next(found, None)
    if row is None:
        raise NotFound(f"There is no deleted {kind} {item_id} that can be restored.")
    return row


def restore(kind: str, item_id: int, *, by: User | None) -> str:
    """Restore an item, and return its name. Raises NotFound, WrongState or PermissionDenied."""
    row = _deleted_row_for(kind, item_id, by)
    if kind in RESTORE_BY_ID:
        RESTORE_BY_ID[kind](item_id, by=by)
    elif of_use := restorable_kinds_of_uses().get(kind):
        of_use.restore(item_id, by=by)
    else:
        restore_item(kind, item_id, by=by)
    return row.name


def remove_for_good(kind: str, item_id: int, *, name: str, by: User | None) -> None:
    """Delete an item permanently. Raises NotFound, PermissionDenied, and WrongState if `name` is
    not its name.
    """
    row = _deleted_row_for(kind, item_id, by)
    if kind in REMOVE_BY_ID:
        REMOVE_BY_ID[kind](item_id, name=name, by=by)
    elif of_use := restorable_kinds_of_uses().get(kind):
        if of_use.remove is None:
            raise WrongState(f"No {kind} is deleted permanently: orders may name it.")
        if name != row.name:
            raise WrongState(f"To delete it permanently, give its name: {row.name}")
        of_use.remove(item_id, by=by)
    else:
        remove_item(kind, item_id, name=name, by=by)


def _deleted_row_for(kind: str, item_id: int, by: User | None) -> DeletedRow:
    row = find_deleted(kind, item_id, by)
    if by is not None:
        require(by, permission_of(kind))
        if not row.may_act:
            raise PermissionDenied(OF_OTHERS.format(kind))
    if row.crawl:
        require_act(by, row.crawl)
    elif is_restricted(by) and row.deleted_by not in (None, by and by.pk):
        raise PermissionDenied(OF_ANOTHER)
    return row
