"""What lets ten thousand wait at no cost: idle processes, and waiting requests by their amounts."""

from django.db import migrations, models

WHO_WAITS = """
UPDATE allocation_process SET is_waiting = true
WHERE id IN (SELECT process_id FROM allocation_request WHERE state = 'waiting')
"""


class Migration(migrations.Migration):
    dependencies = [("allocation", "0017_pools_of_experiments")]
    operations = [
        migrations.AddField(
            model_name="process",
            name="is_waiting",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="whether a request of it waits",
            ),
        ),
        migrations.RunSQL(WHO_WAITS, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name="request",
            name="bypassed",
            field=models.PositiveIntegerField(
                default=0,
                help_text="times another was granted ahead of its turn, to one beyond the limit",
            ),
        ),
        migrations.AddIndex(
            model_name="process",
            index=models.Index(
                condition=models.Q(
                    ("is_waiting", False),
                    ("lease_until", None),
                    ("state", "active"),
                ),
                fields=["id"],
                name="process_idle",
            ),
        ),
        migrations.AddIndex(
            model_name="request",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["pool", "amounts", "turn", "seq"],
                name="request_by_amounts",
            ),
        ),
    ]
