"""What lasts and was told of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0028_listeners")]

    operations = [
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        help_text="what it is the state of: `wait/RUN`, `unsafe/POOL`, `missing/POOL`", max_length=100, unique=True
                    ),
                ),
                ("sentence", models.TextField()),
                ("since", models.DateTimeField(auto_now_add=True)),
            ],
            options={"ordering": ["key"]},
        ),
    ]
