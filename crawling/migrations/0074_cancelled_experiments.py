import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

#: Those that a user had stopped; who did so is in the audit log alone.
SETTLE = """
UPDATE crawling_experiment SET state = 'cancelled'
WHERE cancelled_at IS NOT NULL AND state = 'broken_off';
"""
STATES = [
    ("queued", "Queued"),
    ("running", "Running"),
    ("finished", "Finished"),
    ("broken_off", "broken off"),
    ("cancelled", "Cancelled"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0073_cancelled_jobs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RenameField("experiment", "stop_asked_at", "cancelled_at"),
        migrations.AlterField(
            model_name="experiment",
            name="cancelled_at",
            field=models.DateTimeField(help_text="when a user cancelled it", null=True),
        ),
        migrations.AlterField(
            model_name="experiment",
            name="state",
            field=models.CharField(choices=STATES, default="queued", max_length=20),
        ),
        migrations.RunSQL(SETTLE, migrations.RunSQL.noop),
        migrations.AddField(
            model_name="experiment",
            name="cancelled_by",
            field=models.ForeignKey(
                help_text="empty: the command line, if it was cancelled",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
