"""Background jobs, plans of revisits, and withdrawals of pages."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "__first__"),
        ("crawling", "0004_archive_and_pages"),
    ]

    operations = [
        migrations.CreateModel(
            name="BackgroundJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "cancelled_at",
                    models.DateTimeField(help_text="when a user cancelled it", null=True),
                ),
                (
                    "cancelled_by",
                    models.ForeignKey(
                        help_text="empty: the command line, if it was cancelled",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        help_text="name of a `crawling.jobs.kinds.JobKind`", max_length=20
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="jobs",
                        to="crawling.run",
                    ),
                ),
                (
                    "subject",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="of a kind, one job at a time is open for it; empty: any number",
                        max_length=80,
                    ),
                ),
                ("spec", models.JSONField(default=dict, help_text="what is asked for")),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line, or the scheduler",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("began_at", models.DateTimeField(null=True)),
                (
                    "heartbeat_at",
                    models.DateTimeField(help_text="when its worker was last heard of", null=True),
                ),
                (
                    "machine",
                    models.CharField(
                        blank=True, db_default="", help_text="that has its files", max_length=64
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="what the names of its files begin with; empty: its kind has none",
                        max_length=80,
                    ),
                ),
                (
                    "attempts",
                    models.SmallIntegerField(
                        db_default=0, help_text="how often it was begun behind the bookmark"
                    ),
                ),
                (
                    "breaks",
                    models.SmallIntegerField(
                        db_default=0,
                        help_text="how often it was broken off for others behind the bookmark",
                    ),
                ),
                (
                    "bookmark",
                    models.JSONField(help_text="what is done; it continues behind it", null=True),
                ),
                (
                    "progress",
                    models.JSONField(
                        default=dict, help_text="counts; `done` and `of` give the percent"
                    ),
                ),
                (
                    "waits",
                    models.TextField(
                        blank=True,
                        db_default="",
                        help_text="why no worker is at it; empty: one is, or none yet",
                    ),
                ),
                ("result", models.JSONField(null=True)),
                (
                    "trouble",
                    models.TextField(blank=True, db_default="", help_text="why there is no result"),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "is_forgotten",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="no one sees it; its files are to be removed",
                    ),
                ),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(fields=["kind", "id"], name="jobs_by_kind"),
                    models.Index(
                        condition=models.Q(("ended_at", None)), fields=["id"], name="jobs_open"
                    ),
                    models.Index(
                        condition=models.Q(("trouble", ""), _negated=True),
                        fields=["id"],
                        name="jobs_with_trouble",
                    ),
                    models.Index(
                        condition=models.Q(("is_forgotten", True)),
                        fields=["id"],
                        name="jobs_forgotten",
                    ),
                    models.Index(
                        condition=models.Q(("subject", ""), _negated=True),
                        fields=["subject"],
                        name="jobs_by_subject",
                    ),
                    models.Index(
                        condition=models.Q(("cancelled_at__isnull", False)),
                        fields=["cancelled_at"],
                        name="jobs_cancelled",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("name", ""),
                            ("name__regex", "^[a-z-]+[0-9]{1,19}/[0-9a-f]{32}$"),
                            _connector="OR",
                        ),
                        name="jobs_named_as_ours",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("name", ""), _negated=True),
                        fields=("name",),
                        name="one_job_for_each_name",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("ended_at", None),
                            ("is_forgotten", False),
                            models.Q(("subject", ""), _negated=True),
                        ),
                        fields=("kind", "subject"),
                        name="one_open_job_for_a_subject",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Inquiry",
            fields=[],
            options={
                "verbose_name_plural": "inquiries",
                "proxy": True,
            },
            bases=("crawling.backgroundjob",),
        ),
        migrations.CreateModel(
            name="RevisitPlan",
            fields=[
                (
                    "crawl",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="revisit_plan",
                        serialize=False,
                        to="crawling.crawljob",
                    ),
                ),
                ("planned_at", models.DateTimeField()),
                (
                    "run_number",
                    models.PositiveIntegerField(help_text="of the latest run that had ended"),
                ),
                (
                    "ended_at",
                    models.DateTimeField(
                        help_text="when that run ended; empty: it is to be planned anew", null=True
                    ),
                ),
                ("visits_a_day", models.PositiveIntegerField(help_text="the budget")),
                ("policy", models.CharField(max_length=20)),
                ("pages", models.PositiveBigIntegerField()),
                (
                    "visits",
                    models.PositiveBigIntegerField(
                        help_text="that compared a page with an earlier one"
                    ),
                ),
                (
                    "changes",
                    models.PositiveBigIntegerField(help_text="of those, that found it changed"),
                ),
                (
                    "at_end",
                    models.JSONField(
                        default=dict,
                        help_text="expected freshness, and age in days, when it was planned",
                    ),
                ),
                (
                    "policies",
                    models.JSONField(
                        default=dict,
                        help_text="expected freshness, and age in days, of each policy in the long run",
                    ),
                ),
                (
                    "hosts",
                    models.JSONField(
                        default=list,
                        help_text="the same sums and expectations of the hosts with the most pages",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PlannedRevisit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="planned_revisits",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "fingerprint",
                    models.BigIntegerField(
                        help_text="of its URL, as in the latest run that has it"
                    ),
                ),
                ("url", models.TextField()),
                ("host", models.TextField()),
                (
                    "visits",
                    models.PositiveIntegerField(help_text="that compared it with an earlier one"),
                ),
                (
                    "changes",
                    models.PositiveIntegerField(help_text="of those, that found it changed"),
                ),
                ("rate", models.FloatField(help_text="changes a day, estimated")),
                (
                    "low",
                    models.FloatField(
                        help_text="the true rate is above this with 97.5 % probability"
                    ),
                ),
                ("high", models.FloatField(help_text="and below this")),
                ("wait_days", models.FloatField(help_text="from one visit to the next")),
                ("visited_at", models.DateTimeField()),
                (
                    "next_at",
                    models.DateTimeField(
                        help_text="that is its turn in the budget, or a hint lets it wait"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["crawl", "next_at", "id"], name="revisits_in_turn"),
                    models.Index(fields=["crawl", "rate", "id"], name="revisits_by_rate"),
                    models.Index(fields=["crawl", "host"], name="revisits_of_host"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("crawl", "fingerprint"), name="one_revisit_a_page"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Withdrawal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawals",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        help_text="empty: of all runs",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawals",
                        to="crawling.run",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("page", "page"), ("pattern", "pattern"), ("host", "host")],
                        max_length=10,
                    ),
                ),
                ("text", models.TextField(help_text="URL, regular expression of RE2, or host")),
                ("reason", models.CharField(max_length=300)),
                (
                    "by",
                    models.ForeignKey(
                        help_text="empty: the command line",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("pages", models.IntegerField(db_default=0, help_text="how many it concerned")),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                (
                    "rewrite_at",
                    models.DateTimeField(
                        help_text="since then its records are removed from the files; until then it can be undone"
                    ),
                ),
                (
                    "began_at",
                    models.DateTimeField(help_text="when the first file was rewritten", null=True),
                ),
                (
                    "finished_at",
                    models.DateTimeField(help_text="when all files were rewritten", null=True),
                ),
                ("undone_at", models.DateTimeField(null=True)),
                ("trouble", models.TextField(blank=True, help_text="what the rewriting waits for")),
            ],
            options={
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("finished_at", None), ("undone_at", None)),
                        fields=["rewrite_at"],
                        name="withdrawals_to_be_finished",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WithdrawnPage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "withdrawal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawn_pages",
                        to="crawling.withdrawal",
                    ),
                ),
                (
                    "url",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawn_pages",
                        to="crawling.url",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawn_pages",
                        to="crawling.run",
                    ),
                ),
                (
                    "content",
                    models.JSONField(
                        help_text="the row of the page, and its extracted rows; null: they are removed for good",
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("content__isnull", False)),
                        fields=["run"],
                        name="withdrawn_pages_kept",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WithdrawalFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "withdrawal",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="crawling.withdrawal",
                    ),
                ),
                (
                    "file",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="withdrawals",
                        to="crawling.archivefile",
                    ),
                ),
                (
                    "length",
                    models.BigIntegerField(
                        help_text="its committed length when the pages were withdrawn"
                    ),
                ),
                ("done_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("done_at", None)),
                        fields=["file"],
                        name="files_to_be_rewritten",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("withdrawal", "file"), name="one_row_a_withdrawal_and_file"
                    )
                ],
            },
        ),
    ]
