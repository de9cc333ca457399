"""Help texts in the words of pages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0012_experiments"),
    ]

    operations = [
        migrations.AlterField(
            model_name="crawljob",
            name="priority",
            field=models.SmallIntegerField(
                db_default=0,
                default=0,
                help_text="of its starts in the line for resources, -10 to 10",
            ),
        ),
        migrations.AlterField(
            model_name="shift",
            name="epoch",
            field=models.BigIntegerField(help_text="of the pool's process; one shift an epoch"),
        ),
    ]
