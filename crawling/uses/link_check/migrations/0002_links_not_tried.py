"""How many broken links one of two runs did not try."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("link_check", "0001_broken_links_of_runs")]

    operations = [
        migrations.AddField(
            "brokenlinks",
            "not_tried",
            models.PositiveIntegerField(
                db_default=0, default=0, help_text="failed then, and not tried in this run"
            ),
        ),
        migrations.AddField(
            "brokenlinks",
            "not_tried_before",
            models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="of the broken, those that the run before had not tried",
            ),
        ),
    ]
