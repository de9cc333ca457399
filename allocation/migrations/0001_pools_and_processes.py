"""Pools, the processes that hold units of them, and their requests, grants and releases."""

import uuid
from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import allocation.fields

COPIES = Path(__file__).parent / "sql" / "0001"
#: of rows that are updated all the time, so much of a page is filled at first
FILL_FACTORS = {"pool": 50, "process": 70, "request": 80, "grant": 80}


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL((COPIES / "within.sql").read_text(), "DROP FUNCTION allocation_within"),
        migrations.RunSQL(
            "CREATE SEQUENCE allocation_request_order", "DROP SEQUENCE allocation_request_order"
        ),
        migrations.CreateModel(
            name="Pool",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                (
                    "policy",
                    models.CharField(
                        choices=[
                            ("banker", "banker: grant what keeps the state safe"),
                            (
                                "naive",
                                "naive: grant what is available (experiments only; it deadlocks)",
                            ),
                            (
                                "all_at_once",
                                "all at once: a start requests the whole claim, so no process holds units and waits",
                            ),
                            ("full_scope", "banker, checked over all processes (experiments only)"),
                            (
                                "recursive",
                                "banker, by recursion over all processes (experiments only)",
                            ),
                            (
                                "uncovered",
                                "banker, by recursion over processes not covered yet (experiments only)",
                            ),
                        ],
                        default="banker",
                        max_length=20,
                    ),
                ),
                (
                    "capacity",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="units that exist, by class",
                        size=None,
                    ),
                ),
                (
                    "available",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="free units, by class",
                        size=None,
                    ),
                ),
                (
                    "version",
                    models.BigIntegerField(default=0, help_text="counts the events of this pool"),
                ),
                (
                    "is_safe",
                    models.BooleanField(
                        default=True,
                        help_text="the state is known to be safe; false only after an override",
                    ),
                ),
                (
                    "bypass_limit",
                    models.PositiveIntegerField(
                        default=10,
                        help_text="times the oldest waiter may be passed by one that holds nothing",
                    ),
                ),
                (
                    "reserved",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="units reserved for urgent starts, by class",
                        size=None,
                    ),
                ),
                ("updated_at", models.DateTimeField(db_default=allocation.fields.ClockTimestamp())),
                (
                    "is_experiment",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="made to measure a policy; no crawl uses it",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("reserved")),
                        name="reserved_is_never_negative",
                    ),
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("available")),
                        name="available_is_never_negative",
                    ),
                    models.CheckConstraint(
                        condition=allocation.fields.Within(
                            models.F("available"), models.F("capacity")
                        ),
                        name="available_within_capacity",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ResourceClass",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="classes",
                        to="allocation.pool",
                    ),
                ),
                (
                    "ordinal",
                    models.PositiveSmallIntegerField(
                        help_text="among the classes of the pool, from 0; fixed, and never used again",
                        verbose_name="position",
                    ),
                ),
                ("key", models.SlugField(max_length=40)),
                (
                    "unit",
                    models.CharField(help_text="what one of it is, such as MiB", max_length=40),
                ),
                (
                    "sentence",
                    models.CharField(help_text="what it is for, in a sentence", max_length=300),
                ),
            ],
            options={
                "verbose_name_plural": "resource classes",
                "ordering": ["pool", "ordinal"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "ordinal"), name="one_class_per_ordinal"
                    ),
                    models.UniqueConstraint(fields=("pool", "key"), name="one_class_per_key"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Share",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="shares",
                        to="allocation.pool",
                    ),
                ),
                (
                    "ref",
                    models.CharField(help_text="what the owner knows the group by", max_length=200),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "reserved",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="units reserved for its own processes, by class",
                        size=None,
                    ),
                ),
                (
                    "limits",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="the most that its processes may claim while they hold something, by class",
                        size=None,
                    ),
                ),
            ],
            options={
                "ordering": ["pool", "name"],
                "constraints": [
                    models.UniqueConstraint(fields=("pool", "ref"), name="one_share_per_ref"),
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("reserved")),
                        name="share_reserved_is_never_negative",
                    ),
                    models.CheckConstraint(
                        condition=allocation.fields.Within(
                            models.F("reserved"), models.F("limits")
                        ),
                        name="share_reserved_within_limits",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Process",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="processes",
                        to="allocation.pool",
                    ),
                ),
                ("label", models.CharField(max_length=200)),
                (
                    "run_ref",
                    models.CharField(
                        help_text="what the owner knows this process by; opaque to the pool",
                        max_length=200,
                    ),
                ),
                (
                    "share",
                    models.ForeignKey(
                        help_text="the share whose reserve and limit it has; empty: none",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="processes",
                        to="allocation.share",
                    ),
                ),
                (
                    "max_claim",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "allocated",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "holding",
                    models.GeneratedField(
                        db_persist=True,
                        expression=allocation.fields.AnyUnit(models.F("allocated")),
                        output_field=models.BooleanField(),
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("active", "Active"), ("finished", "Finished")],
                        default="active",
                        max_length=10,
                    ),
                ),
                (
                    "priority",
                    models.SmallIntegerField(
                        default=0,
                        help_text="-10 to 10; a minute each for the turn of a start, and 10 is urgent",
                    ),
                ),
                ("epoch", models.BigIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                (
                    "worker",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="who took up the shift; empty until then",
                        max_length=200,
                    ),
                ),
                (
                    "kept_until",
                    models.DateTimeField(
                        help_text="its units are reserved until then, without a shift", null=True
                    ),
                ),
                (
                    "is_waiting",
                    models.BooleanField(
                        db_default=False, default=False, help_text="whether a request of it waits"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "processes",
                "indexes": [
                    models.Index(
                        condition=models.Q(("holding", True)),
                        fields=["pool", "id"],
                        name="process_holding",
                    ),
                    models.Index(
                        condition=models.Q(("lease_until__isnull", False)),
                        fields=["pool", "lease_until"],
                        name="process_leased",
                    ),
                    models.Index(
                        condition=models.Q(("kept_until__isnull", False)),
                        fields=["pool", "kept_until"],
                        name="process_kept",
                    ),
                    models.Index(fields=["run_ref"], name="process_run_ref"),
                    models.Index(
                        condition=models.Q(
                            ("is_waiting", False), ("lease_until", None), ("state", "active")
                        ),
                        fields=["id"],
                        name="process_idle",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("allocated")),
                        name="allocated_is_never_negative",
                    ),
                    models.CheckConstraint(
                        condition=allocation.fields.Within(
                            models.F("allocated"), models.F("max_claim")
                        ),
                        name="allocated_within_max_claim",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kept_until__isnull", True),
                            models.Q(
                                ("lease_until__isnull", True),
                                allocation.fields.AnyUnit(models.F("allocated")),
                            ),
                            _connector="OR",
                        ),
                        name="kept_units_without_a_shift",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Request",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                (
                    "pool",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="allocation.pool",
                    ),
                ),
                (
                    "process",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="allocation.process",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            (
                                "start",
                                "start: all that a shift needs at least; asked when nothing is held",
                            ),
                            ("growth", "growth: more of something useful; never blocks the shift"),
                            (
                                "stage",
                                "stage: what a document in hand needs; asked while the rest is held",
                            ),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "amounts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("granted", "Granted"),
                            ("rejected", "Rejected"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "verdict",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="as last decided; empty if rejected",
                        max_length=20,
                    ),
                ),
                (
                    "reason",
                    models.TextField(
                        blank=True, default="", help_text="as last decided, in a sentence"
                    ),
                ),
                (
                    "epoch",
                    models.BigIntegerField(
                        help_text="the shift it belongs to; for a granted start the shift it began"
                    ),
                ),
                (
                    "seq",
                    models.BigIntegerField(
                        db_default=allocation.fields.NextNumber(
                            models.Value("allocation_request_order")
                        ),
                        help_text="order of arrival",
                    ),
                ),
                (
                    "turn",
                    models.DateTimeField(
                        db_default=allocation.fields.ClockTimestamp(),
                        help_text="when it arrived, less what its priority lifts it",
                    ),
                ),
                (
                    "bypassed",
                    models.PositiveIntegerField(
                        default=0,
                        help_text="times another was granted ahead of its turn, to one beyond the limit",
                    ),
                ),
                ("deadline", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=allocation.fields.ClockTimestamp())),
                (
                    "decided_at",
                    models.DateTimeField(help_text="when it stopped waiting", null=True),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["pool", "turn", "seq"],
                        name="request_in_turn",
                    ),
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["pool", "amounts", "turn", "seq"],
                        name="request_by_amounts",
                    ),
                    models.Index(fields=["process", "seq"], name="request_by_process"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("amounts")),
                        name="requested_is_never_negative",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "waiting")),
                        fields=("process",),
                        name="one_waiting_request_per_process",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "request",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grant",
                        to="allocation.request",
                    ),
                ),
                (
                    "process",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="grants",
                        to="allocation.process",
                    ),
                ),
                ("epoch", models.BigIntegerField()),
                (
                    "amounts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "remaining",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("granted_at", models.DateTimeField(db_default=allocation.fields.ClockTimestamp())),
                ("released_at", models.DateTimeField(null=True)),
                ("release_reason", models.CharField(blank=True, default="", max_length=200)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("released_at__isnull", True)),
                        fields=["process", "id"],
                        name="grant_open",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("remaining")),
                        name="remaining_is_never_negative",
                    ),
                    models.CheckConstraint(
                        condition=allocation.fields.Within(
                            models.F("remaining"), models.F("amounts")
                        ),
                        name="remaining_within_amounts",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("released_at__isnull", True),
                                allocation.fields.AnyUnit(models.F("remaining")),
                            ),
                            models.Q(
                                ("released_at__isnull", False),
                                models.Q(
                                    allocation.fields.AnyUnit(models.F("remaining")), _negated=True
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="released_when_nothing_remains",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Release",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                (
                    "process",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="allocation.process",
                    ),
                ),
                ("epoch", models.BigIntegerField()),
                (
                    "amounts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("reason", models.CharField(blank=True, default="", max_length=200)),
                (
                    "released_at",
                    models.DateTimeField(db_default=allocation.fields.ClockTimestamp()),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=allocation.fields.Natural(models.F("amounts")),
                        name="released_is_never_negative",
                    )
                ],
            },
        ),
        *(
            migrations.RunSQL(
                f"ALTER TABLE allocation_{table} SET (fillfactor = {share})",
                f"ALTER TABLE allocation_{table} RESET (fillfactor)",
            )
            for table, share in FILL_FACTORS.items()
        ),
    ]
