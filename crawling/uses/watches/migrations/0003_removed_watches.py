"""Watches that can be restored for a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("watches", "0002_findings_by_time")]

    operations = [
        migrations.AddField(
            model_name="watch",
            name="removal_asked_at",
            field=models.DateTimeField(
                help_text="when it was deleted; it can be restored for a day", null=True
            ),
        ),
        migrations.AlterModelManagers(
            name="watch",
            managers=[
                ("objects", models.manager.Manager()),
                ("all_objects", models.manager.Manager()),
            ],
        ),
        migrations.AlterModelOptions(
            name="watch",
            options={
                "base_manager_name": "all_objects",
                "ordering": ["pk"],
                "verbose_name_plural": "watches",
            },
        ),
    ]
