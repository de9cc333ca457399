"""When a run rests or ends by itself."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0029_notices")]

    operations = [
        migrations.AddField(
            "CrawlJob",
            "thresholds",
            models.JSONField(blank=True, default=dict, help_text="the fields of `crawling.rules.sections.thresholds`"),
        ),
        migrations.AddField(
            "Run",
            "resumed_at",
            models.DateTimeField(help_text="when it last went on; what failed before is no reason to rest again", null=True),
        ),
        migrations.AlterField(
            "Run",
            "trouble",
            models.TextField(blank=True, default="", help_text="why the product paused or stopped it by itself; empty: an operator did"),
        ),
    ]
