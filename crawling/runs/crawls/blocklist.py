"""The blocklist shared by all crawls."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from crawling.base.audit import record_action
from crawling.base.errors import BadOrder, NotFound
from crawling.models import BlocklistEntry, DeletedItem, DeletedKind, Host
from crawling.orders.scope.blocklist import BadEntry, BlocklistKind, read_entry
from crawling.runs.crawls.deleted_items import keep_deleted

LONGEST_REASON = 300
LONGEST_TEXT = 500


def add_entry(kind: str, text: str, reason: str, *, by: User | None = None) -> BlocklistEntry:
    """Forbid the entry's URLs to all crawls, within seconds also to running ones.

    Raises BadOrder with a sentence for each field.
    """
    errors = reason_errors(reason)
    if kind not in BlocklistKind.__members__.values():
        errors["kind"] = "must be one of " + ", ".join(BlocklistKind)
    elif not text.strip() or not text.isprintable():
        errors["text"] = "must be one line of text"
    if errors:
        raise BadOrder(errors)
    try:
        spelt = read_entry(BlocklistKind(kind), text)
        if len(spelt) > LONGEST_TEXT:
            raise BadEntry(
                f"must have at most {LONGEST_TEXT} characters; it has {len(spelt):,} as it is kept"
            )
        with transaction.atomic():
            entry = BlocklistEntry.objects.create(
                kind=kind, text=spelt, reason=reason.strip(), by=by
            )
            record_action(by, entry, "added to the blocklist", {"reason": (None, entry.reason)})
    except BadEntry as error:
        raise BadOrder({"text": str(error)}) from error
    except IntegrityError as error:
        raise BadOrder({"text": f"the blocklist has {kind} {spelt} already"}) from error
    return entry


@transaction.atomic
def remove_entry(number: int, *, by: User | None = None) -> DeletedItem:
    """Remove an entry, so that crawls may fetch its URLs again. Running crawls admit the URLs that
    only this entry excluded. Return the item by which the entry can be restored.

    Raises NotFound.
    """
    entry = BlocklistEntry.objects.select_for_update().filter(pk=number, removed_at=None).first()
    if entry is None:
        raise NotFound(f"The blocklist has no entry {number}.")
    content = {"kind": entry.kind, "text": entry.text, "reason": entry.reason}
    item = keep_deleted(DeletedKind.BLOCKLIST, f"{entry.kind} {entry.text}", content, by=by)
    record_action(by, entry, "removed from the blocklist", {"reason": (entry.reason, None)})
    entry.removed_at = timezone.now()
    entry.save(update_fields=["removed_at"])
    return item


def reason_errors(reason: str) -> dict[str, str]:
    """The mistakes of a reason, by field."""
    text = reason.strip()
    if not text:
        return {"reason": "is required: the log of activity shows it"}
    if len(text) > LONGEST_REASON or not text.isprintable():
        return {"reason": f"must be one line of at most {LONGEST_REASON} characters"}
    return {}


def block_host(host: Host, reason: str, *, by: User | None = None) -> BlocklistEntry:
    """Forbid all crawls to fetch from the host, within a second also running shifts.

    Raises BadOrder for an invalid reason.
    """
    return _entries(host).first() or add_entry(BlocklistKind.HOST, host.name, reason, by=by)


def unblock_host(host: Host, *, by: User | None = None) -> None:
    """Unblock a host, unless another entry of the blocklist covers it."""
    for entry in _entries(host):
        remove_entry(entry.pk, by=by)


def _entries(host: Host) -> QuerySet[BlocklistEntry]:
    return BlocklistEntry.objects.filter(kind=BlocklistKind.HOST, text=host.name, removed_at=None)
