from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0059_origin_outages"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="plannedrevisit",
            index=models.Index(fields=["crawl", "host"], name="revisits_of_host"),
        ),
    ]
