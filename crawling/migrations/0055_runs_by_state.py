from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0054_link_graph_waits"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("removal_asked_at", None)),
                fields=["state"],
                name="runs_by_state",
            ),
        ),
    ]
