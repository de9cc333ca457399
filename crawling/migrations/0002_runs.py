"""Runs of crawls: their processes, shifts, counts, log and checkpoints."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("allocation", "0002_ledger"),
        ("crawling", "0001_crawls"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "is_latest",
                    models.BooleanField(
                        default=True, help_text="of its crawl: the one that lists show"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("pausing", "Pausing"),
                            ("paused", "Paused"),
                            ("stopping", "Stopping"),
                            ("finished", "Finished"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "reason",
                    models.TextField(blank=True, help_text="one sentence: why it is in this state"),
                ),
                (
                    "trouble",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="why the product paused or stopped it by itself; empty: an operator did",
                    ),
                ),
                (
                    "keep_seconds",
                    models.FloatField(
                        help_text="how long what it holds is to stay reserved when it pauses; empty: not at all",
                        null=True,
                    ),
                ),
                (
                    "judged_by",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="the rules that its waiting URLs were last held against: `rules_key`",
                        max_length=60,
                    ),
                ),
                (
                    "judged_to",
                    models.JSONField(
                        help_text="how far they have been held against newer ones", null=True
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("started_at", models.DateTimeField(null=True)),
                (
                    "aborted_at",
                    models.DateTimeField(
                        help_text="since then its fetches are cut off; empty: they are let end",
                        null=True,
                    ),
                ),
                (
                    "resumed_at",
                    models.DateTimeField(
                        help_text="when it last went on; what failed before is no reason to rest again",
                        null=True,
                    ),
                ),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "removal_asked_at",
                    models.DateTimeField(
                        help_text="since then it is being deleted, a slice of its rows at a time",
                        null=True,
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="runs", to="crawling.crawljob"
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "base_manager_name": "all_objects",
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_latest", True)),
                        fields=["state", "crawl"],
                        name="latest_runs_by_state",
                    ),
                    models.Index(
                        condition=models.Q(("is_latest", True)),
                        fields=["finished_at"],
                        name="latest_runs_by_end",
                    ),
                    models.Index(
                        condition=models.Q(("removal_asked_at__isnull", False)),
                        fields=["removal_asked_at"],
                        name="runs_to_be_removed",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ("pausing", "stopping"))),
                        fields=["id"],
                        name="runs_winding_down",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("started_at__isnull", False), ("state__in", ("queued", "running"))
                        ),
                        fields=["id"],
                        name="runs_begun",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("crawl", "number"), name="runs_of_a_crawl_are_numbered"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("state__in", ("finished", "stopped", "failed")), _negated=True
                        ),
                        fields=("crawl",),
                        name="a_crawl_has_one_live_run",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_latest", True)),
                        fields=("crawl",),
                        name="a_crawl_has_one_latest_run",
                    ),
                ],
            },
            managers=[
                ("objects", models.Manager()),
                ("all_objects", models.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="RunProcess",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "number",
                    models.PositiveSmallIntegerField(
                        help_text="from 0; hosts are placed on numbers"
                    ),
                ),
                (
                    "serving",
                    models.BooleanField(
                        db_default=True,
                        help_text="whether hosts are placed on it; not while it finds no worker",
                    ),
                ),
                (
                    "bank_process",
                    models.OneToOneField(
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="run_process",
                        to="allocation.process",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="processes", to="crawling.run"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("bank_process", None)),
                        fields=["run"],
                        name="processes_not_enrolled",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "number"), name="processes_of_a_run_are_numbered"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Shift",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "epoch",
                    models.BigIntegerField(help_text="of the bank's process; one shift an epoch"),
                ),
                ("worker", models.CharField(max_length=200)),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ending", models.CharField(blank=True, help_text="why it ended", max_length=200)),
                (
                    "toes",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="what each toe does: its number, step, URL, and since when",
                    ),
                ),
                (
                    "process",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="shifts", to="crawling.runprocess"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("process", "epoch"), name="one_shift_an_epoch"),
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("process",),
                        name="one_live_shift_a_process",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("process_number", models.PositiveSmallIntegerField()),
                ("minute", models.DateTimeField()),
                ("discovered", models.BigIntegerField(db_default=0)),
                ("fetched", models.BigIntegerField(db_default=0)),
                ("succeeded", models.BigIntegerField(db_default=0)),
                ("failed", models.BigIntegerField(db_default=0)),
                ("excluded", models.BigIntegerField(db_default=0)),
                (
                    "quarantined",
                    models.BigIntegerField(
                        db_default=0, help_text="less those that were let go again"
                    ),
                ),
                ("duplicate", models.BigIntegerField(db_default=0)),
                (
                    "reused",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="of those fetched, the answers taken from other crawls",
                    ),
                ),
                ("bytes", models.BigIntegerField(db_default=0)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="counts", to="crawling.run"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["minute"], name="counts_by_minute")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "process_number", "minute"),
                        name="counts_by_process_and_minute",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RunTotal",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="total",
                        serialize=False,
                        to="crawling.run",
                    ),
                ),
                ("discovered", models.BigIntegerField(db_default=0)),
                ("fetched", models.BigIntegerField(db_default=0)),
                ("succeeded", models.BigIntegerField(db_default=0)),
                ("failed", models.BigIntegerField(db_default=0)),
                ("excluded", models.BigIntegerField(db_default=0)),
                ("bytes", models.BigIntegerField(db_default=0)),
                ("quarantined", models.BigIntegerField(db_default=0)),
                ("duplicate", models.BigIntegerField(db_default=0)),
                ("reused", models.BigIntegerField(db_default=0)),
            ],
        ),
        migrations.CreateModel(
            name="RunStatusCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("q", "queued"),
                            ("p", "in process"),
                            ("s", "succeeded"),
                            ("f", "failed"),
                            ("x", "excluded"),
                            ("t", "quarantined"),
                        ],
                        help_text="succeeded, failed or excluded",
                        max_length=1,
                    ),
                ),
                ("status", models.SmallIntegerField()),
                ("urls", models.BigIntegerField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="status_counts",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "state", "status"), name="counts_by_status"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MinuteTotal",
            fields=[
                ("minute", models.DateTimeField(primary_key=True, serialize=False)),
                ("fetched", models.BigIntegerField()),
                ("failed", models.BigIntegerField()),
                ("discovered", models.BigIntegerField()),
                ("bytes", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="LogLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "level",
                    models.PositiveSmallIntegerField(
                        choices=[(20, "info"), (30, "warning"), (40, "error")]
                    ),
                ),
                ("message", models.TextField()),
                ("url", models.TextField(blank=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="log",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "id"], name="log_of_a_run"),
                    models.Index(
                        condition=models.Q(("level", 40)),
                        fields=["run", "id"],
                        name="errors_of_a_run",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScheduledStart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("outcome", models.CharField(help_text="a sentence", max_length=300)),
                (
                    "run",
                    models.ForeignKey(
                        help_text="empty: none was started",
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to="crawling.run",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="starts", to="crawling.schedule"
                    ),
                ),
            ],
            options={
                "ordering": ["-due_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("schedule", "due_at"), name="a_time_is_settled_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                (
                    "taken_at",
                    models.DateTimeField(help_text="the moment whose state it holds", null=True),
                ),
                ("machine", models.CharField(blank=True, max_length=64)),
                ("directory", models.TextField(blank=True)),
                ("bytes", models.BigIntegerField(default=0)),
                ("urls", models.BigIntegerField(default=0)),
                ("trouble", models.TextField(blank=True, help_text="why it could not be taken")),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the keeper",
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="checkpoints", to="crawling.run"
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
    ]
