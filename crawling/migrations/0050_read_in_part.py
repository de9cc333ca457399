from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0049_outages"),
    ]

    operations = [
        migrations.AddField(
            model_name="page",
            name="unread",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="a `crawling.rules.unread.Unread`: why not all of it was read; empty: all was",
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                condition=models.Q(("unread", ""), _negated=True),
                fields=["run", "fetched_at", "url"],
                name="pages_read_in_part",
            ),
        ),
    ]
