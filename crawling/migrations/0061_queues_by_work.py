import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0060_revisits_of_host"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="hostqueue",
            index=models.Index(fields=["run", "-queued", "-done", "id"], name="queues_by_work"),
        ),
        # three other indexes begin with the run
        migrations.AlterField(
            model_name="hostqueue",
            name="run",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="queues",
                to="crawling.run",
            ),
        ),
    ]
