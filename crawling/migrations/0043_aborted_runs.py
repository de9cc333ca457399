from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0042_priority"),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="aborted_at",
            field=models.DateTimeField(help_text="since then its fetches are cut off; empty: they are let end", null=True),
        ),
    ]
