"""Fields and choices say work session, as pages do; the database stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0003_server_functions"),
    ]

    operations = [
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
                    ("stale", "release by a work session that was over; nothing changed (nothing)"),
                    ("reaped", "lease expired, units taken back (the units)"),
                    ("kept", "work session ended, its units reserved (the units)"),
                    ("keep_ended", "reservation ran out, units taken back (the units)"),
                    ("resumed", "work session begun with the reserved units (the units)"),
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
        migrations.AlterField(
            model_name="outbox",
            name="kind",
            field=models.CharField(
                choices=[
                    ("start", "run the work session that was granted"),
                    ("reaped", "the work session was lost; its units are back"),
                    ("pump", "call pump_pool: more waiters may be served"),
                ],
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="process",
            name="kept_until",
            field=models.DateTimeField(
                help_text="its units are reserved until then, without a work session", null=True
            ),
        ),
        migrations.AlterField(
            model_name="process",
            name="worker",
            field=models.CharField(
                blank=True,
                default="",
                help_text="who took up the work session; empty until then",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="request",
            name="epoch",
            field=models.BigIntegerField(
                help_text="the work session it belongs to; for a granted start the one it began"
            ),
        ),
        migrations.AlterField(
            model_name="request",
            name="kind",
            field=models.CharField(
                choices=[
                    (
                        "start",
                        "start: all that a work session needs at least; asked when nothing is held",
                    ),
                    ("growth", "growth: more of something useful; never blocks the work session"),
                    ("stage", "stage: what a document in hand needs; asked while the rest is held"),
                ],
                max_length=10,
            ),
        ),
    ]
