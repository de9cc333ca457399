"""The frontier: hosts, their queues and what is known of them, and the URLs of a run."""

from django.contrib.postgres.functions import TransactionNow
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0002_runs"),
    ]

    operations = [
        migrations.CreateModel(
            name="Host",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(db_collation="C", max_length=260, unique=True)),
                (
                    "dns_name",
                    models.CharField(
                        blank=True,
                        db_collation="C",
                        db_default="",
                        help_text="what DNS is asked for; empty: nobody need be asked",
                        max_length=253,
                    ),
                ),
                ("due_at", models.DateTimeField(db_default=TransactionNow())),
                (
                    "delay_seconds",
                    models.FloatField(db_default=0, help_text="the delay that the last shift kept"),
                ),
                (
                    "backoffs",
                    models.IntegerField(
                        db_default=0,
                        help_text="answers in a row by which it said that it has too much to do",
                    ),
                ),
                (
                    "counted_at",
                    models.DateTimeField(
                        help_text="when the latest request to it was counted", null=True
                    ),
                ),
                (
                    "requests_in_minute",
                    models.IntegerField(db_default=0, help_text="of counted_at, by UTC"),
                ),
                (
                    "requests_in_day",
                    models.IntegerField(db_default=0, help_text="of counted_at, by UTC"),
                ),
                (
                    "answered_at",
                    models.DateTimeField(
                        help_text="when a shift that had an answer let it go; null: it never did",
                        null=True,
                    ),
                ),
                ("lease_until", models.DateTimeField(null=True)),
                (
                    "shift",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="hosts",
                        to="crawling.shift",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("shift", None), ("lease_until__isnull", False), _connector="OR"
                        ),
                        name="a_leased_host_has_a_lease_end",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AddressClock",
            fields=[
                ("address", models.GenericIPAddressField(primary_key=True, serialize=False)),
                ("due_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="RobotsFile",
            fields=[
                (
                    "origin",
                    models.CharField(
                        db_collation="C", max_length=270, primary_key=True, serialize=False
                    ),
                ),
                ("status", models.SmallIntegerField()),
                ("body", models.BinaryField()),
                ("fetched_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="HostQueue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "process_number",
                    models.PositiveSmallIntegerField(
                        help_text="the process of the run that serves this host"
                    ),
                ),
                ("queued", models.IntegerField(db_default=0)),
                (
                    "done",
                    models.IntegerField(
                        db_default=0, help_text="URLs that succeeded, failed or were excluded"
                    ),
                ),
                ("due_at", models.DateTimeField(db_default=TransactionNow())),
                (
                    "retry_at",
                    models.DateTimeField(
                        help_text="not before, while its host lets nothing be fetched; `due_at` is never earlier",
                        null=True,
                    ),
                ),
                (
                    "outage",
                    models.JSONField(
                        help_text="`crawling.web.outages.Outage`, while its host lets nothing be fetched",
                        null=True,
                    ),
                ),
                ("pages", models.IntegerField(db_default=0, help_text="answers had of it")),
                ("bytes", models.BigIntegerField(db_default=0, help_text="of their documents")),
                (
                    "began_at",
                    models.DateTimeField(
                        help_text="when the first of them was recorded", null=True
                    ),
                ),
                (
                    "domain",
                    models.CharField(
                        blank=True,
                        db_collation="C",
                        db_default="",
                        help_text="the host's registrable domain; empty: it has none",
                        max_length=253,
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="queues", to="crawling.host"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="queues", to="crawling.run"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("queued__gt", 0)),
                        fields=["run", "process_number", "due_at", "id"],
                        name="queues_in_turn",
                    ),
                    models.Index(fields=["run", "domain"], name="queues_by_domain"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "host"), name="one_queue_a_host_and_run"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("queued__gte", 0)), name="queued_is_never_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CookieJar",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sealed", models.TextField()),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="cookie_jars", to="crawling.host"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="cookie_jars",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "host"), name="one_jar_a_host_and_run")
                ],
            },
        ),
        migrations.CreateModel(
            name="Url",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("fingerprint", models.BigIntegerField()),
                ("url", models.TextField()),
                ("depth", models.SmallIntegerField()),
                (
                    "rank",
                    models.FloatField(help_text="lowest first; among equals, first found first"),
                ),
                (
                    "lane",
                    models.SmallIntegerField(
                        db_default=0,
                        help_text="an operator's word before any rank: -1 is fetched first of its host, 1 last",
                    ),
                ),
                (
                    "via",
                    models.BigIntegerField(
                        help_text="id of the URL on whose page it was found", null=True
                    ),
                ),
                (
                    "backlinks",
                    models.IntegerField(
                        help_text="pages that were seen to link to it before it was fetched; best-first counts them",
                        null=True,
                    ),
                ),
                (
                    "credit",
                    models.FloatField(
                        help_text="what it held when it was fetched; OPIC's measure of its importance",
                        null=True,
                    ),
                ),
                (
                    "pattern",
                    models.BigIntegerField(
                        help_text="key of the pattern it shares with URLs that differ by numbers and ids only",
                        null=True,
                    ),
                ),
                (
                    "redirects",
                    models.SmallIntegerField(
                        db_default=0, help_text="redirects in a row that led here when it was found"
                    ),
                ),
                (
                    "hops",
                    models.SmallIntegerField(
                        db_default=0,
                        help_text="links in a row outside the scope, the one that led here included",
                    ),
                ),
                (
                    "nesting",
                    models.SmallIntegerField(
                        db_default=0,
                        help_text="sitemap indexes in a row that led here when it was found",
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
                        default="q",
                        max_length=1,
                    ),
                ),
                ("attempts", models.SmallIntegerField(db_default=0)),
                (
                    "losses",
                    models.SmallIntegerField(
                        db_default=0,
                        help_text="shifts that were lost while they had it; with any it is a suspect",
                    ),
                ),
                (
                    "due_at",
                    models.DateTimeField(
                        help_text="not before, after a failure that may pass", null=True
                    ),
                ),
                (
                    "status",
                    models.SmallIntegerField(
                        help_text="of the last try: HTTP's, or a negative FetchStatus", null=True
                    ),
                ),
                ("error", models.TextField(blank=True, db_default="")),
                (
                    "queue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="urls",
                        to="crawling.hostqueue",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="urls",
                        to="crawling.run",
                    ),
                ),
                (
                    "shift",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="urls",
                        to="crawling.shift",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "q")),
                        fields=["queue", "lane", "rank", "id"],
                        name="urls_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("state", "p")), fields=["shift"], name="urls_in_process"
                    ),
                    models.Index(
                        condition=models.Q(("depth", 0)),
                        fields=["run", "queue"],
                        name="seeds_of_a_run",
                    ),
                    models.Index(
                        condition=models.Q(("pattern__isnull", False), ("state", "q")),
                        fields=["run", "pattern"],
                        name="urls_waiting_by_pattern",
                    ),
                    models.Index(
                        condition=models.Q(("state", "t")),
                        fields=["run", "pattern", "id"],
                        name="urls_quarantined",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["f", "x"])),
                        fields=["run", "status"],
                        name="urls_that_ended_badly",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "fingerprint"), name="a_url_is_seen_once_a_run"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LambdaRow",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="lambda_page",
                        serialize=False,
                        to="crawling.run",
                    ),
                ),
                ("credit", models.FloatField(default=0)),
                ("level", models.FloatField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Reranking",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="reranking",
                        serialize=False,
                        to="crawling.run",
                    ),
                ),
                (
                    "fingerprint",
                    models.BigIntegerField(help_text="those of lower ones are ranked anew already"),
                ),
            ],
        ),
    ]
