from django.db import migrations, models


class Migration(migrations.Migration):
    """What hosts are spared beyond a delay."""

    dependencies = [("crawling", "0015_scope_verdicts_and_limits")]

    operations = [
        migrations.AddField(
            model_name="crawljob",
            name="politeness",
            field=models.JSONField(blank=True, default=dict, help_text="what hosts and the line are spared beyond the delay"),
        ),
        migrations.AddField(
            model_name="host",
            name="counted_at",
            field=models.DateTimeField(null=True, help_text="when the latest request to it was counted"),
        ),
        migrations.AddField(
            model_name="host",
            name="requests_in_minute",
            field=models.IntegerField(db_default=0, help_text="of counted_at, by UTC"),
        ),
        migrations.AddField(
            model_name="host",
            name="requests_in_day",
            field=models.IntegerField(db_default=0, help_text="of counted_at, by UTC"),
        ),
        migrations.AddField(
            model_name="host",
            name="backoffs",
            field=models.IntegerField(db_default=0, help_text="answers in a row by which it said that it has too much to do"),
        ),
        migrations.AddField(
            model_name="runprocess",
            name="serving",
            field=models.BooleanField(db_default=True, help_text="whether hosts are placed on it; not while it finds no worker"),
        ),
        migrations.AddField(
            model_name="shift",
            name="toes",
            field=models.JSONField(blank=True, default=list, help_text="what each toe does: its number, step, URL, and since when"),
        ),
    ]
