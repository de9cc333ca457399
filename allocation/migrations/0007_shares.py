"""Shares: a reserve and a limit for a group of processes. A start that they may keep back is not
decided by the server alone.
"""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import allocation.fields

GRANT = (Path(__file__).parent / "sql" / "0007" / "grant.sql").read_text()
BEFORE = (Path(__file__).parent / "sql" / "0003" / "grant.sql").read_text()


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0006_no_stage_of_a_process"),
    ]

    operations = [
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
                    "ref",
                    models.CharField(help_text="what the owner knows the group by", max_length=200),
                ),
                ("name", models.CharField(max_length=100)),
                (
                    "reserved",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(),
                        help_text="units left to its own processes, by class",
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
            },
        ),
        migrations.RemoveIndex(
            model_name="event",
            name="event_of_rare_kind",
        ),
        migrations.AlterField(
            model_name="event",
            name="kind",
            field=models.CharField(
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
                    ("stale", "release by a shift that was over; nothing changed (nothing)"),
                    ("reaped", "lease expired, units taken back (the units)"),
                    ("kept", "shift ended, its units reserved (the units)"),
                    ("keep_ended", "reservation ran out, units taken back (the units)"),
                    ("resumed", "shift begun with the reserved units (the units)"),
                    ("finished", "process finished (the units it still held)"),
                    ("capacity_set", "capacity changed (the new capacity)"),
                    ("reserved_set", "units reserved for urgent starts (the units)"),
                    ("claim_changed", "claim changed (the new claim)"),
                    ("overridden", "unsafe change of limits put through; it follows (nothing)"),
                    ("class_added", "resource class added (the new capacity)"),
                    ("rules_changed", "bypass limit changed (nothing)"),
                    ("priority_changed", "priority changed (nothing)"),
                    ("share_reserved", "reserve of a share changed (the new reserve)"),
                    ("share_limited", "limit of a share changed (the new limit)"),
                ],
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="share",
            name="pool",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="shares",
                to="allocation.pool",
            ),
        ),
        migrations.AddField(
            model_name="event",
            name="share",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                help_text="the share that changed, or that a registered process has",
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="allocation.share",
            ),
        ),
        migrations.AddField(
            model_name="process",
            name="share",
            field=models.ForeignKey(
                help_text="the share whose reserve and limit it has; empty: none",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="processes",
                to="allocation.share",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
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
        ),
        migrations.AddConstraint(
            model_name="share",
            constraint=models.UniqueConstraint(fields=("pool", "ref"), name="one_share_per_ref"),
        ),
        migrations.AddConstraint(
            model_name="share",
            constraint=models.CheckConstraint(
                condition=allocation.fields.Natural(models.F("reserved")),
                name="share_reserved_is_never_negative",
            ),
        ),
        migrations.AddConstraint(
            model_name="share",
            constraint=models.CheckConstraint(
                condition=allocation.fields.Within(models.F("reserved"), models.F("limits")),
                name="share_reserved_within_limits",
            ),
        ),
        migrations.RunSQL(GRANT, BEFORE),
    ]
