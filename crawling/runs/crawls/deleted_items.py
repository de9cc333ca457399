"""Keep deleted items, so that they can be restored for a while."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from crawling.models import DeletedItem, DeletedKind
from crawling.models.deleted import RESTORABLE


def keep_deleted(
    kind: DeletedKind,
    name: str,
    content: Mapping[str, Any],
    *,
    by: User | None,
    owner: User | None = None,
) -> DeletedItem:
    """Keep the content of an item, in the transaction that deletes the item. owner: the only user
    who may see the item; None for all.
    """
    return DeletedItem.objects.create(
        kind=kind, name=name, content=dict(content), owner=owner, deleted_by=by
    )


def forget_deleted() -> None:
    """Delete permanently the items that can no longer be restored."""
    DeletedItem.objects.filter(deleted_at__lte=timezone.now() - RESTORABLE).delete()
