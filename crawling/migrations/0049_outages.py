"""What is known of hosts that let nothing be fetched."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0048_personal_pages")]

    operations = [
        migrations.AddField(
            "host",
            "answered_at",
            models.DateTimeField(null=True, help_text="when a shift that had an answer let it go; null: it never did"),
        ),
        migrations.RunSQL(
            """
            UPDATE crawling_host h SET answered_at = coalesce(h.counted_at, clock_timestamp())
            WHERE EXISTS (SELECT FROM crawling_hostqueue q WHERE q.host_id = h.id AND q.pages > 0)
            """,
            migrations.RunSQL.noop,
        ),
        migrations.AddField(
            "hostqueue",
            "retry_at",
            models.DateTimeField(null=True, help_text="not before, while its host lets nothing be fetched; `due_at` is never earlier"),
        ),
        migrations.AddField(
            "hostqueue",
            "outage",
            models.JSONField(null=True, help_text="`crawling.rules.outages.Outage`, while its host lets nothing be fetched"),
        ),
    ]
