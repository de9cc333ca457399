from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0061_queues_by_work"),
    ]

    operations = [
        migrations.AddField(
            model_name="linkgraph",
            name="broken_steps",
            field=models.SmallIntegerField(
                db_default=0,
                help_text="how often the step that is next was broken off for others",
            ),
        ),
    ]
