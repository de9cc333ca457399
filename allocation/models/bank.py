"""Pools, their resource classes and their processes: Available, Max and Allocation.

Amounts are arrays in the order of the pool's classes, with one row for each process, since every
decision reads all of them.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from allocation.fields import AnyUnit, ClockTimestamp, Natural, Within


class Policy(models.TextChoices):
    BANKER = "banker", "banker: grant what keeps the state safe"
    NAIVE = "naive", "naive: grant what is available (experiments only; it deadlocks)"
    ALL_AT_ONCE = (
        "all_at_once",
        "all at once: a start requests the whole claim, so no process holds units and waits",
    )
    FULL_SCOPE = "full_scope", "banker, checked over all processes (experiments only)"
    RECURSIVE = "recursive", "banker, by recursion over all processes (experiments only)"
    UNCOVERED = (
        "uncovered",
        "banker, by recursion over processes not covered yet (experiments only)",
    )


class Pool(models.Model):
    """Resource classes and the free units of each.

    The row of a pool is the lock for every decision, and has all facts about the whole pool that a
    decision reads.
    """

    name = models.CharField(max_length=100, unique=True)
    policy = models.CharField(max_length=20, choices=Policy, default=Policy.BANKER)
    capacity = ArrayField(models.IntegerField(), help_text="units that exist, by class")
    available = ArrayField(models.IntegerField(), help_text="free units, by class")
    version = models.BigIntegerField(default=0, help_text="counts the events of this pool")
    is_safe = models.BooleanField(
        default=True, help_text="the state is known to be safe; false only after an override"
    )
    bypass_limit = models.PositiveIntegerField(
        default=10, help_text="times the oldest waiter may be passed by one that holds nothing"
    )
    reserved = ArrayField(
        models.IntegerField(), help_text="units reserved for urgent starts, by class"
    )
    updated_at = models.DateTimeField(db_default=ClockTimestamp())
    is_experiment = models.BooleanField(
        default=False, db_default=False, help_text="made to measure a policy; no crawl uses it"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Natural(F("reserved")), name="reserved_is_never_negative"
            ),
            models.CheckConstraint(
                condition=Natural(F("available")), name="available_is_never_negative"
            ),
            models.CheckConstraint(
                condition=Within(F("available"), F("capacity")), name="available_within_capacity"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("allocation:pool", args=[self.pk])


class ResourceClass(models.Model):
    """One kind of unit in a pool.

    The capacity of a class is in `Pool.capacity[ordinal]` and nowhere else.
    """

    pool = models.ForeignKey(Pool, models.PROTECT, db_index=False, related_name="classes")
    ordinal = models.PositiveSmallIntegerField(
        "position",
        help_text="among the classes of the pool, from 0; fixed, and never used again",
    )
    key = models.SlugField(max_length=40)
    unit = models.CharField(max_length=40, help_text="what one of it is, such as MiB")
    sentence = models.CharField(max_length=300, help_text="what it is for, in a sentence")

    class Meta:
        ordering = ["pool", "ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "ordinal"], name="one_class_per_ordinal"),
            models.UniqueConstraint(fields=["pool", "key"], name="one_class_per_key"),
        ]
        verbose_name_plural = "resource classes"

    def __str__(self) -> str:
        return self.key


class Share(models.Model):
    """The share of a group of processes in a pool: a reserve and a limit by class.

    The pool knows the group by an opaque `ref`. A share is written under the pool's lock, since
    decisions read it under this lock. `allocation.rules.shares` defines the meaning of the numbers.
    """

    pool = models.ForeignKey(Pool, models.PROTECT, db_index=False, related_name="shares")
    ref = models.CharField(max_length=200, help_text="what the owner knows the group by")
    name = models.CharField(max_length=100)
    reserved = ArrayField(
        models.IntegerField(), help_text="units reserved for its own processes, by class"
    )
    limits = ArrayField(
        models.IntegerField(),
        help_text="the most that its processes may claim while they hold something, by class",
    )

    class Meta:
        ordering = ["pool", "name"]
        constraints = [
            models.UniqueConstraint(fields=["pool", "ref"], name="one_share_per_ref"),
            models.CheckConstraint(
                condition=Natural(F("reserved")), name="share_reserved_is_never_negative"
            ),
            models.CheckConstraint(
                condition=Within(F("reserved"), F("limits")), name="share_reserved_within_limits"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ProcessState(models.TextChoices):
    """Whether a process may still make requests.

    Its current activity follows from its grants and requests.
    """

    ACTIVE = "active"
    FINISHED = "finished"


#: registered, without a shift and without a request
IS_IDLE = Q(state=ProcessState.ACTIVE, lease_until=None, is_waiting=False)


class Process(models.Model):
    """One process in the pool: its claim (Max), the units that it holds (Allocation), and the lease
    of its shift.

    A shift is identified by its `epoch`. The epoch rises when a start is granted and when a lease
    is reaped, and writes with an older epoch are refused. `lease_until` is empty when no shift is
    alive. Only take_lease and renew_lease touch this row without the pool's lock, and only the
    columns of the lease. `kept_until` is set while an operator's pause keeps the units of an ended
    shift. These units are a reservation. The pool does not assume that the process finishes.
    """

    pool = models.ForeignKey(Pool, models.PROTECT, related_name="processes")
    label = models.CharField(max_length=200)
    run_ref = models.CharField(
        max_length=200, help_text="what the owner knows this process by; opaque to the pool"
    )
    share = models.ForeignKey(
        Share,
        models.PROTECT,
        null=True,
        related_name="processes",
        help_text="the share whose reserve and limit it has; empty: none",
    )
    max_claim = ArrayField(models.IntegerField())
    allocated = ArrayField(models.IntegerField())
    holding = models.GeneratedField(
        expression=AnyUnit(F("allocated")), output_field=models.BooleanField(), db_persist=True
    )
    state = models.CharField(max_length=10, choices=ProcessState, default=ProcessState.ACTIVE)
    priority = models.SmallIntegerField(
        default=0, help_text="-10 to 10; a minute each for the turn of a start, and 10 is urgent"
    )
    epoch = models.BigIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    worker = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="who took up the work session; empty until then",
    )
    kept_until = models.DateTimeField(
        null=True, help_text="its units are reserved until then, without a work session"
    )
    is_waiting = models.BooleanField(
        db_default=False,
        default=False,
        help_text="whether a request of it waits",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Natural(F("allocated")), name="allocated_is_never_negative"
            ),
            models.CheckConstraint(
                condition=Within(F("allocated"), F("max_claim")), name="allocated_within_max_claim"
            ),
            models.CheckConstraint(
                condition=Q(kept_until__isnull=True)
                | Q(lease_until__isnull=True) & Q(AnyUnit(F("allocated"))),
                name="kept_units_without_a_shift",
            ),
        ]
        indexes = [
            models.Index(fields=["pool", "id"], name="process_holding", condition=Q(holding=True)),
            models.Index(
                fields=["pool", "lease_until"],
                name="process_leased",
                condition=Q(lease_until__isnull=False),
            ),
            models.Index(
                fields=["pool", "kept_until"],
                name="process_kept",
                condition=Q(kept_until__isnull=False),
            ),
            models.Index(fields=["run_ref"], name="process_run_ref"),
            # by this index the scheduler finds its work, however many processes wait or have
            # finished
            models.Index(fields=["id"], name="process_idle", condition=IS_IDLE),
        ]
        verbose_name_plural = "processes"

    def __str__(self) -> str:
        return self.label
