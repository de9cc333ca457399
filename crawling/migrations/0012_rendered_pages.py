"""Pages say whether a browser rendered them, and runs remember what that brought."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0011_rendering")]

    operations = [
        migrations.AddField(
            "page",
            "rendering",
            models.SmallIntegerField(
                null=True,
                help_text="a `crawling.orders.rendering.Rendering`, or the fetch status of a "
                "rendering that was ended; empty: the order renders no page",
            ),
        ),
        migrations.CreateModel(
            name="RunRendering",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="rendering",
                        serialize=False,
                        to="crawling.run",
                    ),
                ),
                (
                    "pages",
                    models.BigIntegerField(
                        db_default=0, help_text="that a browser was asked to render"
                    ),
                ),
                (
                    "patterns",
                    models.JSONField(
                        default=dict,
                        help_text="by the key of a pattern of addresses: how many of its pages "
                        "were rendered, and how many of these gained links or text",
                    ),
                ),
            ],
        ),
    ]
