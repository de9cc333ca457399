"""The number of broken links of each run, beside those of the run before."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    initial = True

    dependencies = [("crawling", "0005_jobs_and_plans")]

    operations = [
        migrations.CreateModel(
            name="BrokenLinks",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("broken", models.PositiveIntegerField()),
                (
                    "new",
                    models.PositiveIntegerField(
                        default=0, help_text="of them, those that did not fail then"
                    ),
                ),
                (
                    "fixed",
                    models.PositiveIntegerField(
                        default=0, help_text="failed then, and not in this run"
                    ),
                ),
                ("found_at", models.DateTimeField()),
                (
                    "against",
                    models.ForeignKey(
                        help_text="the run before it",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="crawling.run",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="broken_links",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "broken links",
                "ordering": ["-run_id"],
                "indexes": [
                    models.Index(
                        condition=Q(new__gt=0) | Q(fixed__gt=0),
                        fields=["found_at"],
                        name="news_of_links_by_time",
                    )
                ],
            },
        ),
    ]
