from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

import allocation.fields


class Migration(migrations.Migration):
    dependencies = [("allocation", "0006_kept_units")]

    operations = [
        migrations.AddField(
            model_name="pool",
            name="reserved",
            field=ArrayField(base_field=models.IntegerField(), default=list, help_text="units left to urgent starts, by class", size=None),
            preserve_default=False,
        ),
        migrations.RunSQL(
            "UPDATE allocation_pool SET reserved = array_fill(0, ARRAY[cardinality(capacity)])", reverse_sql=migrations.RunSQL.noop
        ),
        migrations.AddConstraint(
            model_name="pool",
            constraint=models.CheckConstraint(condition=allocation.fields.Natural(models.F("reserved")), name="reserved_is_never_negative"),
        ),
        migrations.AddField(
            model_name="request",
            name="turn",
            field=models.DateTimeField(
                db_default=allocation.fields.ClockTimestamp(), help_text="when it arrived, less what its priority lifts it"
            ),
        ),
        # The new column has rewritten the rows, so that changing them queues checks of their references; an index wants those done.
        migrations.RunSQL(
            "UPDATE allocation_request SET turn = created_at; SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED",
            reverse_sql=migrations.RunSQL.noop,
        ),
        migrations.RemoveIndex(
            model_name="request",
            name="request_waiting",
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
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="pool",
            name="policy",
            field=models.CharField(
                choices=[
                    ("banker", "banker: grant what keeps the state safe"),
                    ("naive", "naive: grant what is available (experiments only; it deadlocks)"),
                    ("all_at_once", "all at once: a start asks for the whole claim, so nobody holds and waits"),
                ],
                default="banker",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="process",
            name="priority",
            field=models.SmallIntegerField(default=0, help_text="-10 to 10; a minute each for the turn of a start, and 10 is urgent"),
        ),
        migrations.AlterField(
            model_name="request",
            name="bypassed",
            field=models.PositiveIntegerField(default=0, help_text="times another was granted ahead of its turn"),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(condition=models.Q(("state", "waiting")), fields=["pool", "turn", "seq"], name="request_in_turn"),
        ),
    ]
