"""Restore deleted items: templates, saved views, schedules, entries of the blocklist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound, WrongState
from crawling.models import (
    CrawlJob,
    DeletedItem,
    DeletedKind,
    OrderTemplate,
    SavedView,
    Schedule,
)
from crawling.models.deleted import RESTORABLE
from crawling.runs.crawls.blocklist import add_entry
from crawling.runs.crawls.schedules import set_schedule

Content = Mapping[str, Any]


def find_item(kind: str, item_id: int, *, by: User | None) -> DeletedItem:
    """The deleted item. Raises NotFound if it was not deleted, can no longer be restored, or
    belongs to another user.
    """
    since = timezone.now() - RESTORABLE
    found = DeletedItem.objects.select_for_update(of=("self",)).filter(
        kind=kind, pk=item_id, deleted_at__gt=since
    )
    item = found.first()
    if item is None or (item.owner_id is not None and (by is None or item.owner_id != by.pk)):
        raise NotFound(f"There is no deleted {kind} {item_id} that can be restored.")
    return item


@transaction.atomic
def restore_item(kind: str, item_id: int, *, by: User | None) -> str:
    """Restore the item, and return its name. Raises NotFound, and WrongState if another item has
    its name or place now.
    """
    item = find_item(kind, item_id, by=by)
    try:
        with transaction.atomic():
            RESTORE[DeletedKind(kind)](item, by)
    except IntegrityError as error:
        raise WrongState(
            f"There is a {kind} named {item.name!r} again; remove that one first."
        ) from error
    except BadOrder as error:
        raise WrongState(str(error)) from error
    item.delete()
    return item.name


@transaction.atomic
def remove_item(kind: str, item_id: int, *, name: str, by: User | None) -> None:
    """Delete the item permanently. Raises NotFound, and WrongState if `name` is not its name."""
    item = find_item(kind, item_id, by=by)
    if name != item.name:
        raise WrongState(f"To delete it permanently, give its name: {item.name}")
    item.delete()


def _restore_template(item: DeletedItem, by: User | None) -> None:
    content: Content = item.content
    maker = User.objects.filter(pk=content.get("created_by") or 0).first()
    template = OrderTemplate.objects.create(
        name=item.name, order=content["order"], tags=content["tags"], created_by=maker or by
    )
    record_action(by, template, "restored")


def _restore_view(item: DeletedItem, by: User | None) -> None:
    assert item.owner is not None  # each view belongs to a user
    is_shared = item.content.get("is_shared", False)
    SavedView.objects.create(
        user=item.owner, name=item.name, query=item.content["query"], is_shared=is_shared
    )


def _restore_schedule(item: DeletedItem, by: User | None) -> None:
    crawl = CrawlJob.objects.filter(pk=item.content["crawl"]).first()
    if crawl is None:
        raise WrongState(f"The crawl {item.name} is deleted; restore that first.")
    if Schedule.objects.filter(crawl=crawl).exists():
        raise WrongState(f"{crawl.name} has another schedule; remove that one first.")
    set_schedule(crawl, item.content["timing"], by=by)


def _restore_entry(item: DeletedItem, by: User | None) -> None:
    content: Content = item.content
    add_entry(content["kind"], content["text"], content["reason"], by=by)


RESTORE: Mapping[DeletedKind, Callable[[DeletedItem, User | None], None]] = {
    DeletedKind.TEMPLATE: _restore_template,
    DeletedKind.VIEW: _restore_view,
    DeletedKind.SCHEDULE: _restore_schedule,
    DeletedKind.BLOCKLIST: _restore_entry,
}
