"""Teams and pools of crawls, and schedules that follow the changes of pages."""

import django.core.validators
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0023_shift_used"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        max_length=80,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[^\\x00-\\x1f\\x7f]+$", "The name of a team is one line of text."
                            )
                        ],
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddField(
            model_name="crawljob",
            name="pool",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="the pool that it runs in, by name; empty: the default pool",
                max_length=100,
            ),
        ),
        migrations.AddField(
            model_name="crawljob",
            name="team",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="the team that it belongs to, by name; empty: none",
                max_length=80,
            ),
        ),
        migrations.AddIndex(
            model_name="crawljob",
            index=models.Index(
                condition=models.Q(("team", ""), _negated=True),
                fields=["team"],
                name="crawls_by_team",
            ),
        ),
        migrations.AddField(
            model_name="team",
            name="members",
            field=models.ManyToManyField(
                blank=True, related_name="teams", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="judged_run",
            field=models.BigIntegerField(
                help_text="the latest run by whose changes the interval was set", null=True
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="pace_minutes",
            field=models.PositiveIntegerField(
                help_text="the interval now, of one that follows the changes of pages", null=True
            ),
        ),
    ]
