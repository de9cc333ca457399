"""The outbox: messages to the owner of the processes. Delivery is at least once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db.models import TextField
from django.db.models.expressions import RawSQL

from allocation.fields import ClockTimestamp
from allocation.models import Outbox, OutboxKind
from allocation.values import OutboxMessage

#: the classes of which a message's process claims some units
CLAIMED = RawSQL(
    "ARRAY(SELECT key FROM allocation_resourceclass c WHERE allocation_process.pool_id = c.pool_id"
    " AND allocation_process.max_claim[c.ordinal + 1] > 0)",
    (),
    ArrayField(TextField()),
)


def unsent_outbox(
    *, limit: int = 100, kinds: Collection[OutboxKind] = tuple(OutboxKind)
) -> list[OutboxMessage]:
    """Return the oldest messages of these kinds that are not marked as sent.

    The caller acts on them, then calls `mark_sent`. After a crash between the two they are returned
    again. Only one process at a time delivers messages of a kind.
    """
    rows = (
        Outbox.objects.filter(sent_at=None, kind__in=kinds)
        .order_by("pk")
        .select_related("process", "pool")
        .annotate(claimed=CLAIMED)[:limit]
    )
    return [
        OutboxMessage(
            id=row.pk,
            kind=OutboxKind(row.kind),
            pool=row.pool_id,
            process=row.process_id,
            run_ref=row.process.run_ref if row.process else "",
            epoch=row.epoch,
            is_experiment=row.pool.is_experiment,
            claimed=frozenset(row.claimed),
        )
        for row in rows
    ]


def mark_sent(*, ids: Iterable[int]) -> int:
    """Mark messages as delivered. Return the number of those that were not marked before."""
    return Outbox.objects.filter(pk__in=list(ids), sent_at=None).update(sent_at=ClockTimestamp())


def forget_sent(*, older_than: timedelta, limit: int) -> int:
    """Delete messages that were delivered long ago, a bounded number at a time. Return their
    number.
    """
    # the first rows are roughly the oldest; only a bounded number is read
    first = Outbox.objects.exclude(sent_at=None).order_by("pk").values("pk")[:limit]
    old = Outbox.objects.filter(pk__in=first, sent_at__lt=ClockTimestamp() - older_than)
    return old.delete()[0]
