from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0049_indexes_of_troubled_hosts"),
    ]

    operations = [
        migrations.AddField(
            model_name="seedsource",
            name="etag",
            field=models.TextField(
                blank=True,
                default="",
                help_text="of a feed as it was read; the next reading asks whether it has changed",
            ),
        ),
        migrations.AddField(
            model_name="seedsource",
            name="last_modified",
            field=models.DateTimeField(help_text="the same, as the server states it", null=True),
        ),
        migrations.AlterField(
            model_name="seedsource",
            name="kind",
            field=models.CharField(choices=[("folder", "folder"), ("feed", "feed")], max_length=10),
        ),
    ]
