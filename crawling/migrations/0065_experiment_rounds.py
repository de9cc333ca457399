from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0064_own_robots_files"),
    ]

    operations = [
        migrations.AddField(
            model_name="experimentrequest",
            name="round",
            field=models.PositiveSmallIntegerField(
                db_default=1, default=1, help_text="the turn of its policy, from 1 on"
            ),
        ),
    ]
