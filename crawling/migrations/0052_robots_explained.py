from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0051_sealed_bodies"),
    ]

    operations = [
        migrations.AlterField(
            model_name="inquiry",
            name="kind",
            field=models.CharField(
                choices=[
                    ("test_fetch", "test fetch"),
                    ("text_diff", "text comparison"),
                    ("robots", "explanation of robots.txt"),
                ],
                max_length=20,
            ),
        ),
    ]
