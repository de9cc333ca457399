"""What the keeper looks for, by indexes that have nothing else."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0018_what_a_crowd_costs"),
        ("crawling", "0044_archive_files_confined"),
    ]
    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=Q(("state__in", ("pausing", "stopping"))),
                fields=["id"],
                name="runs_winding_down",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=Q(("started_at__isnull", False), ("state__in", ("queued", "running"))),
                fields=["id"],
                name="runs_begun",
            ),
        ),
        migrations.AddIndex(
            model_name="runprocess",
            index=models.Index(
                condition=Q(("bank_process", None)),
                fields=["run"],
                name="processes_not_enrolled",
            ),
        ),
    ]
