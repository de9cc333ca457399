"""Fields and choices say work session, as pages do; the database stays as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("experiments", "0002_jobs"),
    ]

    operations = [
        migrations.AlterField(
            model_name="experiment",
            name="kind",
            field=models.CharField(
                choices=[
                    ("threads", "threads of the experiment"),
                    ("shifts", "work sessions of crawls"),
                ],
                db_default="threads",
                default="threads",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="experiment",
            name="requests",
            field=models.PositiveIntegerField(help_text="of each policy; of work sessions: crawls"),
        ),
    ]
