from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0006_sorted_pages")]

    operations = [
        migrations.AddField(
            "crawljob",
            "purpose",
            models.CharField(
                max_length=10,
                blank=True,
                default="",
                db_default="",
                help_text="what it is for: `crawling.orders.purposes`",
            ),
        ),
    ]
