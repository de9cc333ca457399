"""The ledger, its checkpoints, the outbox, and the use of pools by minute."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

import allocation.fields


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0001_pools_and_processes"),
    ]

    operations = [
        migrations.CreateModel(
            name="Event",
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
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        to="allocation.pool",
                    ),
                ),
                ("version", models.BigIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("created", "pool created (its capacity)"),
                            ("registered", "process registered (its claim)"),
                            ("granted", "request granted (the request)"),
                            ("waiting", "request made to wait (the request)"),
                            ("rejected", "request rejected (the request)"),
                            ("cancelled", "waiting request cancelled (the request)"),
                            ("expired", "waiting request expired (the request)"),
                            ("released", "units released (the units)"),
                            ("repeated", "release sent again; nothing changed (nothing)"),
                            (
                                "stale",
                                "release by a shift that was over; nothing changed (nothing)",
                            ),
                            ("reaped", "lease expired, units taken back (the units)"),
                            ("kept", "shift ended, its units reserved (the units)"),
                            ("keep_ended", "reservation ran out, units taken back (the units)"),
                            ("resumed", "shift begun with the reserved units (the units)"),
                            ("finished", "process finished (the units it still held)"),
                            ("capacity_set", "capacity changed (the new capacity)"),
                            ("reserved_set", "units reserved for urgent starts (the units)"),
                            ("claim_changed", "claim changed (the new claim)"),
                            (
                                "overridden",
                                "unsafe change of limits put through; it follows (nothing)",
                            ),
                            ("class_added", "resource class added (the new capacity)"),
                            ("rules_changed", "bypass limit changed (nothing)"),
                            ("priority_changed", "priority changed (nothing)"),
                            ("share_reserved", "reserve of a share changed (the new reserve)"),
                            ("share_limited", "limit of a share changed (the new limit)"),
                        ],
                        max_length=20,
                    ),
                ),
                ("at", models.DateTimeField(db_default=allocation.fields.ClockTimestamp())),
                (
                    "process",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        to="allocation.process",
                    ),
                ),
                ("epoch", models.BigIntegerField(null=True)),
                (
                    "share",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        help_text="the share that changed, or that a registered process has",
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        to="allocation.share",
                    ),
                ),
                ("request_id", models.UUIDField(null=True)),
                ("grant_id", models.BigIntegerField(null=True)),
                (
                    "amounts",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "available_before",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "available_after",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("verdict", models.CharField(blank=True, default="", max_length=20)),
                ("reason", models.TextField(blank=True, default="")),
                (
                    "sequence",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["process", "id"], name="event_by_process"),
                    models.Index(
                        condition=models.Q(("kind", "waiting")),
                        fields=["request_id"],
                        name="event_waited",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("kind__in", ("created", "capacity_set", "class_added"))
                        ),
                        fields=["pool", "version"],
                        name="event_of_capacity",
                    ),
                    models.Index(
                        condition=models.Q(
                            (
                                "kind__in",
                                (
                                    "created",
                                    "registered",
                                    "rejected",
                                    "expired",
                                    "repeated",
                                    "stale",
                                    "reaped",
                                    "kept",
                                    "keep_ended",
                                    "resumed",
                                    "finished",
                                    "capacity_set",
                                    "reserved_set",
                                    "claim_changed",
                                    "overridden",
                                    "class_added",
                                    "rules_changed",
                                    "priority_changed",
                                    "share_reserved",
                                    "share_limited",
                                ),
                            )
                        ),
                        fields=["pool", "kind", "version"],
                        name="event_of_rare_kind",
                    ),
                    django.contrib.postgres.indexes.BrinIndex(fields=["at"], name="event_by_time"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "version"), name="one_event_per_version"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LedgerCheckpoint",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checkpoints",
                        to="allocation.pool",
                    ),
                ),
                ("version", models.BigIntegerField()),
                ("state", models.JSONField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "version"), name="one_checkpoint_per_version"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WaitCount",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="wait_counts",
                        to="allocation.pool",
                    ),
                ),
                ("version", models.BigIntegerField()),
                ("at", models.DateTimeField(help_text="when the event was")),
                ("waiting", models.IntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["pool", "at", "version"], name="wait_count_by_time")
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "version"), name="one_wait_count_per_version"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UseMinute",
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
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="use_minutes",
                        to="allocation.pool",
                    ),
                ),
                ("minute", models.DateTimeField()),
                ("samples", models.IntegerField()),
                (
                    "used",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(null=True),
                        help_text="the sum of all samples",
                        size=None,
                    ),
                ),
            ],
            options={
                "indexes": [
                    django.contrib.postgres.indexes.BrinIndex(
                        fields=["minute"], name="use_by_minute"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("pool", "minute"), name="one_row_of_use_per_minute"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Outbox",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("start", "run the shift that was granted"),
                            ("reaped", "the shift was lost; its units are back"),
                            ("pump", "call pump_pool: more waiters may be served"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "pool",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outbox",
                        to="allocation.pool",
                    ),
                ),
                (
                    "process",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="outbox",
                        to="allocation.process",
                    ),
                ),
                ("epoch", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField(db_default=allocation.fields.ClockTimestamp())),
                ("sent_at", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "outbox",
                "indexes": [
                    models.Index(
                        condition=models.Q(("sent_at__isnull", True)),
                        fields=["id"],
                        name="outbox_unsent",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MatrixCell",
            fields=[
                ("id", models.CharField(max_length=40, primary_key=True, serialize=False)),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="allocation.pool",
                    ),
                ),
                (
                    "process",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="allocation.process",
                    ),
                ),
                ("ordinal", models.IntegerField()),
                ("key", models.CharField(max_length=40)),
                ("unit", models.CharField(max_length=40)),
                ("maximum", models.IntegerField()),
                ("allocation", models.IntegerField()),
                ("need", models.IntegerField()),
            ],
            options={
                "verbose_name": "limit of a process",
                "verbose_name_plural": "limits of processes",
                "db_table": "matrix_cell",
                "ordering": ["process", "ordinal"],
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Conservation",
            fields=[
                ("id", models.CharField(max_length=40, primary_key=True, serialize=False)),
                (
                    "pool",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="allocation.pool",
                    ),
                ),
                ("ordinal", models.IntegerField()),
                ("key", models.CharField(max_length=40)),
                ("capacity", models.IntegerField()),
                ("available", models.IntegerField()),
                ("allocated", models.BigIntegerField()),
                ("difference", models.BigIntegerField()),
                ("ungranted", models.BigIntegerField()),
            ],
            options={
                "db_table": "conservation",
                "ordering": ["pool", "ordinal"],
                "managed": False,
            },
        ),
    ]
