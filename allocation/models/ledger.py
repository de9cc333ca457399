"""The append-only record of a pool's actions, its messages to its owner, and two views for people
and checks.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q

from allocation.fields import ClockTimestamp
from allocation.models.bank import Pool, Process, Share


class EventKind(models.TextChoices):
    """Kinds of events. The words in brackets explain `amounts`."""

    CREATED = "created", "pool created (its capacity)"
    REGISTERED = "registered", "process registered (its claim)"
    GRANTED = "granted", "request granted (the request)"
    WAITING = "waiting", "request made to wait (the request)"
    REJECTED = "rejected", "request rejected (the request)"
    CANCELLED = "cancelled", "waiting request cancelled (the request)"
    EXPIRED = "expired", "waiting request expired (the request)"
    RELEASED = "released", "units released (the units)"
    REPEATED = "repeated", "release sent again; nothing changed (nothing)"
    STALE = "stale", "release by a work session that was over; nothing changed (nothing)"
    REAPED = "reaped", "lease expired, units taken back (the units)"
    KEPT = "kept", "work session ended, its units reserved (the units)"
    KEEP_ENDED = "keep_ended", "reservation ran out, units taken back (the units)"
    RESUMED = "resumed", "work session begun with the reserved units (the units)"
    FINISHED = "finished", "process finished (the units it still held)"
    CAPACITY_SET = "capacity_set", "capacity changed (the new capacity)"
    RESERVED_SET = "reserved_set", "units reserved for urgent starts (the units)"
    CLAIM_CHANGED = "claim_changed", "claim changed (the new claim)"
    OVERRIDDEN = "overridden", "unsafe change of limits put through; it follows (nothing)"
    CLASS_ADDED = "class_added", "resource class added (the new capacity)"
    RULES_CHANGED = "rules_changed", "bypass limit changed (nothing)"
    PRIORITY_CHANGED = "priority_changed", "priority changed (nothing)"
    SHARE_RESERVED = "share_reserved", "reserve of a share changed (the new reserve)"
    SHARE_LIMITED = "share_limited", "limit of a share changed (the new limit)"


#: kinds by which the ledger is often searched. Frequent events are found quickly without an index,
#: and rare ones by an index that hardly ever grows
OFTEN = (EventKind.GRANTED, EventKind.WAITING, EventKind.RELEASED, EventKind.CANCELLED)
RARE_KINDS = tuple(kind for kind in EventKind if kind not in OFTEN)
#: events whose amounts become the pool's capacity
CAPACITY_KINDS = (EventKind.CREATED, EventKind.CAPACITY_SET, EventKind.CLASS_ADDED)


class Event(models.Model):
    """An event in a pool. A trigger prevents its change and deletion.

    From the amounts, and from Available before and after, the whole history can be replayed.
    `sequence` holds the ids of the processes that can finish, in order; a grant by early exit ends
    at the requester. The ledger outlives the rows that it names, so no reference here is
    constrained.
    """

    pool = models.ForeignKey(
        Pool, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="events"
    )
    version = models.BigIntegerField()
    kind = models.CharField(max_length=20, choices=EventKind)
    at = models.DateTimeField(db_default=ClockTimestamp())
    process = models.ForeignKey(
        Process,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="events",
    )
    epoch = models.BigIntegerField(null=True)
    share = models.ForeignKey(
        Share,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="events",
        help_text="the share that changed, or that a registered process has",
    )
    request_id = models.UUIDField(null=True)
    grant_id = models.BigIntegerField(null=True)
    amounts = ArrayField(models.IntegerField())
    available_before = ArrayField(models.IntegerField())
    available_after = ArrayField(models.IntegerField())
    verdict = models.CharField(max_length=20, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    sequence = ArrayField(models.BigIntegerField(), default=list)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "version"], name="one_event_per_version")
        ]
        indexes = [
            models.Index(fields=["process", "id"], name="event_by_process"),
            models.Index(fields=["request_id"], name="event_waited", condition=Q(kind="waiting")),
            models.Index(
                fields=["pool", "version"],
                name="event_of_capacity",
                condition=Q(kind__in=CAPACITY_KINDS),
            ),
            models.Index(
                fields=["pool", "kind", "version"],
                name="event_of_rare_kind",
                condition=Q(kind__in=RARE_KINDS),
            ),
            BrinIndex(fields=["at"], name="event_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.version}"


class LedgerCheckpoint(models.Model):
    """The state of a pool at a version, according to the ledger. A replay may begin with it.

    A checkpoint can be deleted and made again.
    """

    pool = models.ForeignKey(Pool, models.CASCADE, db_index=False, related_name="checkpoints")
    version = models.BigIntegerField()
    state = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "version"], name="one_checkpoint_per_version")
        ]

    def __str__(self) -> str:
        return f"{self.pool_id} at {self.version}"


class WaitCount(models.Model):
    """The number of waiting requests of a pool after an event, for charts of its past.

    A count can be deleted and made again.
    """

    pool = models.ForeignKey(Pool, models.CASCADE, db_index=False, related_name="wait_counts")
    version = models.BigIntegerField()
    at = models.DateTimeField(help_text="when the event was")
    waiting = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "version"], name="one_wait_count_per_version")
        ]
        indexes = [models.Index(fields=["pool", "at", "version"], name="wait_count_by_time")]

    def __str__(self) -> str:
        return f"{self.pool_id} at {self.version}: {self.waiting}"


class UseMinute(models.Model):
    """The use of a pool in one minute: sums of samples, in the order of the pool's classes.

    An entry is null where the use of a class is not measured.
    """

    pool = models.ForeignKey(Pool, models.CASCADE, db_index=False, related_name="use_minutes")
    minute = models.DateTimeField()
    samples = models.IntegerField()
    used = ArrayField(models.BigIntegerField(null=True), help_text="the sum of all samples")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pool", "minute"], name="one_row_of_use_per_minute")
        ]
        indexes = [BrinIndex(fields=["minute"], name="use_by_minute")]

    def __str__(self) -> str:
        return f"{self.pool_id} at {self.minute:%Y-%m-%d %H:%M}"


class OutboxKind(models.TextChoices):
    """A message to the owner of the processes."""

    START = "start", "run the work session that was granted"
    REAPED = "reaped", "the work session was lost; its units are back"
    PUMP = "pump", "call pump_pool: more waiters may be served"


class Outbox(models.Model):
    """A message written in the same transaction as its cause. It is delivered at least once."""

    kind = models.CharField(max_length=10, choices=OutboxKind)
    pool = models.ForeignKey(
        Pool, models.CASCADE, db_constraint=False, db_index=False, related_name="outbox"
    )
    process = models.ForeignKey(
        Process,
        models.CASCADE,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="outbox",
    )
    epoch = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    sent_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["id"], name="outbox_unsent", condition=Q(sent_at__isnull=True))
        ]
        verbose_name_plural = "outbox"

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class MatrixCell(models.Model):
    """One cell of Max, Allocation and Need, for a process and a class. A view."""

    id = models.CharField(primary_key=True, max_length=40)
    pool = models.ForeignKey(Pool, models.DO_NOTHING, related_name="+")
    process = models.ForeignKey(Process, models.DO_NOTHING, related_name="+")
    ordinal = models.IntegerField()
    key = models.CharField(max_length=40)
    unit = models.CharField(max_length=40)
    maximum = models.IntegerField()
    allocation = models.IntegerField()
    need = models.IntegerField()

    class Meta:
        managed = False
        db_table = "matrix_cell"
        ordering = ["process", "ordinal"]
        verbose_name = "limit of a process"
        verbose_name_plural = "limits of processes"

    def __str__(self) -> str:
        return f"{self.process_id} {self.key}"


class Conservation(models.Model):
    """The units of a class that are missing.

    A view with one row for each class. Unless units leaked, its last two columns are all zero.

    difference: capacity - available - the units that processes hold. ungranted: the units that
    processes hold - the units of open grants.
    """

    id = models.CharField(primary_key=True, max_length=40)
    pool = models.ForeignKey(Pool, models.DO_NOTHING, related_name="+")
    ordinal = models.IntegerField()
    key = models.CharField(max_length=40)
    capacity = models.IntegerField()
    available = models.IntegerField()
    allocated = models.BigIntegerField()
    difference = models.BigIntegerField()
    ungranted = models.BigIntegerField()

    class Meta:
        managed = False
        db_table = "conservation"
        ordering = ["pool", "ordinal"]

    def __str__(self) -> str:
        return f"{self.key}: {self.difference}"
