from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0052_robots_explained"),
    ]

    operations = [
        migrations.AddField(
            model_name="url",
            name="nesting",
            field=models.SmallIntegerField(
                db_default=0,
                help_text="sitemap indexes in a row that led here when it was found",
            ),
        ),
    ]
