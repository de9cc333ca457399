from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0051_revisits"),
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
                    ("copies", "search for copies"),
                    ("text_copies", "search for copies of a text"),
                    ("passages", "comparison of passages"),
                    ("rules", "preview of extraction rules"),
                    ("tables", "tables of a page"),
                ],
                max_length=20,
            ),
        ),
    ]
