"""Help texts in the words of pages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0003_functions_and_views"),
    ]

    operations = [
        migrations.AlterField(
            model_name="process",
            name="run_ref",
            field=models.CharField(
                help_text="what the owner knows this process by; opaque to the pool", max_length=200
            ),
        ),
    ]
