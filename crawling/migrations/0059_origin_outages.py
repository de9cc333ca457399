"""Origins of a host whose robots.txt cannot be had have outages of their own."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0058_nu_messages")]

    operations = [
        migrations.AddField(
            model_name="hostqueue",
            name="origin_outages",
            field=models.JSONField(
                null=True,
                help_text="outages by origin: its robots.txt cannot be had, though another of the "
                "host can",
            ),
        ),
    ]
