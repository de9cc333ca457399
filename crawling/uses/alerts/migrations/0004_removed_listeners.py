"""Listeners that can be restored for a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerts", "0003_weekly_summaries_of_users")]

    operations = [
        migrations.AddField(
            model_name="listener",
            name="removal_asked_at",
            field=models.DateTimeField(
                help_text="when it was deleted; it can be restored for a day", null=True
            ),
        ),
        migrations.RemoveConstraint(model_name="listener", name="listeners_differ_by_name"),
        migrations.AlterModelManagers(
            name="listener",
            managers=[
                ("objects", models.manager.Manager()),
                ("all_objects", models.manager.Manager()),
            ],
        ),
        migrations.AlterModelOptions(
            name="listener",
            options={"base_manager_name": "all_objects", "ordering": ["name", "pk"]},
        ),
        migrations.AddConstraint(
            model_name="listener",
            constraint=models.UniqueConstraint(
                condition=models.Q(("removal_asked_at", None), ("user", None)),
                fields=("name",),
                name="listeners_differ_by_name",
            ),
        ),
    ]
