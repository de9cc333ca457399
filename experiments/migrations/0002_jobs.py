"""Each experiment has a background job, which says how it went."""

from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

BROKEN_OFF = "Its process was ended before all its requests were tried."
UPGRADED = "It was not begun before an upgrade. Start it again."


def make_jobs(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    database = schema_editor.connection.alias
    jobs = apps.get_model("crawling", "BackgroundJob").objects.using(database)
    experiments = apps.get_model("experiments", "Experiment").objects.using(database)
    for experiment in experiments.order_by("pk"):
        job = jobs.create(
            kind="experiment",
            by_id=experiment.by_id,
            began_at=experiment.started_at,
            heartbeat_at=experiment.seen_at,
            cancelled_at=experiment.cancelled_at,
            cancelled_by_id=experiment.cancelled_by_id,
            **_end(experiment),
        )
        jobs.filter(pk=job.pk).update(asked_at=experiment.created_at)
        experiments.filter(pk=experiment.pk).update(job=job)


def _end(experiment: Any) -> dict[str, Any]:
    """The columns of a job that say how it ended."""
    if experiment.cancelled_at:
        user = experiment.cancelled_by
        trouble = f"It was cancelled by {user.username if user else 'the command line'}."
        return {"ended_at": experiment.finished_at or experiment.cancelled_at, "trouble": trouble}
    if experiment.state == "running":  # its job removes what it left, and ends as broken off
        return {"bookmark": "begun"}
    ended_at = experiment.finished_at or timezone.now()
    if experiment.state == "finished":
        return {"ended_at": ended_at, "result": {}}
    trouble = UPGRADED if experiment.state == "queued" else BROKEN_OFF
    return {"ended_at": ended_at, "trouble": trouble}


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0005_jobs_and_plans"),
        ("experiments", "0001_requests"),
    ]

    operations = [
        migrations.AddField(
            model_name="experiment",
            name="job",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="crawling.backgroundjob",
            ),
        ),
        migrations.RunPython(make_jobs),
        # a table with references that are not checked yet cannot be altered
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE"),
        migrations.AlterField(
            model_name="experiment",
            name="job",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="crawling.backgroundjob",
            ),
        ),
        *(
            migrations.RemoveField(model_name="experiment", name=name)
            for name in (
                *("by", "cancelled_at", "cancelled_by", "created_at"),
                *("finished_at", "seen_at", "started_at", "state"),
            )
        ),
    ]
