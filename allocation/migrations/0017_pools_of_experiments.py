from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("allocation", "0016_rare_events")]

    operations = [
        migrations.AddField(
            model_name="pool",
            name="is_experiment",
            field=models.BooleanField(db_default=False, default=False, help_text="made to measure a policy; no crawl uses it"),
        ),
    ]
