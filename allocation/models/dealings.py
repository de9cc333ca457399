"""Transactions between a process and its pool: requests, grants and releases."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, Value

from allocation.fields import AnyUnit, ClockTimestamp, Natural, NextNumber, Within
from allocation.models.bank import Pool, Process


class RequestKind(models.TextChoices):
    """The kind of a request. It decides whether the request may wait, and how."""

    START = "start", "start: all that a work session needs at least; asked when nothing is held"
    GROWTH = "growth", "growth: more of something useful; never blocks the work session"
    STAGE = "stage", "stage: what a document in hand needs; asked while the rest is held"


class RequestState(models.TextChoices):
    """The state of a request. It waits until it is granted, cancelled or expired; a rejected
    request never waits.
    """

    WAITING = "waiting"
    GRANTED = "granted"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Request(models.Model):
    """One request. Its UUID, which the requester chooses, makes it safe to send again."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    # the process names its pool, and the grant's request its process, so the server need not check
    # these references again, which would cost an eighth
    pool = models.ForeignKey(
        Pool, models.PROTECT, db_constraint=False, db_index=False, related_name="requests"
    )
    process = models.ForeignKey(Process, models.PROTECT, db_index=False, related_name="requests")
    kind = models.CharField(max_length=10, choices=RequestKind)
    amounts = ArrayField(models.IntegerField())
    state = models.CharField(max_length=10, choices=RequestState)
    verdict = models.CharField(
        max_length=20, blank=True, default="", help_text="as last decided; empty if rejected"
    )
    reason = models.TextField(blank=True, default="", help_text="as last decided, in a sentence")
    epoch = models.BigIntegerField(
        help_text="the work session it belongs to; for a granted start the one it began"
    )
    seq = models.BigIntegerField(
        db_default=NextNumber(Value("allocation_request_order")), help_text="order of arrival"
    )
    turn = models.DateTimeField(
        db_default=ClockTimestamp(), help_text="when it arrived, less what its priority lifts it"
    )
    bypassed = models.PositiveIntegerField(
        default=0,
        help_text="times another was granted ahead of its turn, to one beyond the limit",
    )
    deadline = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=ClockTimestamp())
    decided_at = models.DateTimeField(null=True, help_text="when it stopped waiting")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Natural(F("amounts")), name="requested_is_never_negative"
            ),
            models.UniqueConstraint(
                fields=["process"],
                condition=Q(state="waiting"),
                name="one_waiting_request_per_process",
            ),
        ]
        indexes = [
            models.Index(
                fields=["pool", "turn", "seq"], name="request_in_turn", condition=Q(state="waiting")
            ),
            models.Index(
                fields=["pool", "amounts", "turn", "seq"],
                name="request_by_amounts",
                condition=Q(state="waiting"),
            ),
            models.Index(fields=["process", "seq"], name="request_by_process"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class Grant(models.Model):
    """Units that were granted to a process.

    The id of the grant is the fencing token. `remaining` is the part that is not released yet.
    """

    request = models.OneToOneField(Request, models.PROTECT, related_name="grant")
    process = models.ForeignKey(Process, models.PROTECT, db_constraint=False, related_name="grants")
    epoch = models.BigIntegerField()
    amounts = ArrayField(models.IntegerField())
    remaining = ArrayField(models.IntegerField())
    granted_at = models.DateTimeField(db_default=ClockTimestamp())
    released_at = models.DateTimeField(null=True)
    release_reason = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Natural(F("remaining")), name="remaining_is_never_negative"
            ),
            models.CheckConstraint(
                condition=Within(F("remaining"), F("amounts")), name="remaining_within_amounts"
            ),
            models.CheckConstraint(
                condition=Q(released_at__isnull=True) & Q(AnyUnit(F("remaining")))
                | Q(released_at__isnull=False) & ~Q(AnyUnit(F("remaining"))),
                name="released_when_nothing_remains",
            ),
        ]
        indexes = [
            models.Index(
                fields=["process", "id"], name="grant_open", condition=Q(released_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"grant {self.pk}"


class Release(models.Model):
    """A release. Its UUID, which the releaser chooses, makes it safe to send again."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    process = models.ForeignKey(Process, models.PROTECT, related_name="releases")
    epoch = models.BigIntegerField()
    amounts = ArrayField(models.IntegerField())
    reason = models.CharField(max_length=200, blank=True, default="")
    released_at = models.DateTimeField(db_default=ClockTimestamp())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Natural(F("amounts")), name="released_is_never_negative"
            )
        ]

    def __str__(self) -> str:
        return f"release {self.id}"
