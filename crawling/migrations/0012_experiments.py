"""Trials, by the name of experiments."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0011_checkpoint_by_scheduler")]

    operations = [
        migrations.RemoveConstraint("trialrequest", "one_row_per_try"),
        migrations.RenameModel("Trial", "Experiment"),
        migrations.RenameModel("TrialRequest", "ExperimentRequest"),
        migrations.RenameField("experimentrequest", "trial", "experiment"),
        migrations.AddConstraint(
            "experimentrequest",
            models.UniqueConstraint(
                fields=["experiment", "policy", "number", "attempt"], name="one_row_per_try"
            ),
        ),
    ]
