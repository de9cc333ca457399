"""Collections that can be restored for a day, and whose names others may have meanwhile."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("collections", "0001_collections")]

    operations = [
        migrations.AddField(
            model_name="collection",
            name="removal_asked_at",
            field=models.DateTimeField(
                help_text="when it was deleted; it can be restored for a day", null=True
            ),
        ),
        migrations.AlterField(
            model_name="collection",
            name="name",
            field=models.CharField(max_length=100),
        ),
        migrations.AddConstraint(
            model_name="collection",
            constraint=models.UniqueConstraint(
                condition=models.Q(removal_asked_at=None),
                fields=("name",),
                name="collections_differ_by_name",
            ),
        ),
        migrations.AlterModelManagers(
            name="collection",
            managers=[
                ("objects", models.manager.Manager()),
                ("all_objects", models.manager.Manager()),
            ],
        ),
        migrations.AlterModelOptions(
            name="collection",
            options={"base_manager_name": "all_objects", "ordering": ["-pk"]},
        ),
    ]
