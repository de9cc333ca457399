from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0035_idle_only"),
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
                    ("run_changes", "comparison of two runs"),
                    ("seed_names", "addresses of seeds"),
                ],
                max_length=20,
            ),
        ),
    ]
