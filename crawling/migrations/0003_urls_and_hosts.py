"""The frontier: hosts and their queues, URLs, robots.txt files, verdicts and traps."""

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.db.models.deletion
from django.db import migrations, models

import crawling.orders.scope.trap_gate


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0002_crawls_and_runs"),
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
                        help_text="name for DNS; empty: no look-up is needed",
                        max_length=253,
                    ),
                ),
                (
                    "due_at",
                    models.DateTimeField(
                        db_default=django.contrib.postgres.functions.TransactionNow()
                    ),
                ),
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
                    "rest_reason",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="the answer that made the last shift leave it alone for long; empty: none did",
                        max_length=300,
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
                (
                    "shift",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="hosts",
                        to="crawling.shift",
                    ),
                ),
                ("lease_until", models.DateTimeField(null=True)),
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
            name="HostQueue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="queues",
                        to="crawling.run",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="queues",
                        to="crawling.host",
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
                (
                    "due_at",
                    models.DateTimeField(
                        db_default=django.contrib.postgres.functions.TransactionNow()
                    ),
                ),
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
                (
                    "origin_outages",
                    models.JSONField(
                        help_text="outages by origin: its robots.txt cannot be had, though another of the host can",
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
                    "certificate_ends_at",
                    models.DateTimeField(
                        help_text="of those met at the last visit the first to end; empty: none was met",
                        null=True,
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
                    models.Index(fields=["run", "-queued", "-done", "id"], name="queues_by_work"),
                    models.Index(fields=["run", "domain"], name="queues_by_domain"),
                    models.Index(
                        condition=models.Q(("certificate_ends_at__isnull", False)),
                        fields=["run", "certificate_ends_at"],
                        name="queues_by_certificate",
                    ),
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
            name="Url",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="urls",
                        to="crawling.run",
                    ),
                ),
                (
                    "queue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="urls",
                        to="crawling.hostqueue",
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
                        help_text="links to it from pages that were read, its hit count (SEEDS B6); a shift adds them up every half minute, so one that is killed loses the last",
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
                    "modified_at",
                    models.DateTimeField(
                        help_text="when it was changed last, as a sitemap states", null=True
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
                (
                    "shift",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="urls",
                        to="crawling.shift",
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
                        help_text="earliest time of the retry after a temporary failure", null=True
                    ),
                ),
                (
                    "status",
                    models.SmallIntegerField(
                        help_text="of the last try: HTTP's, or a negative FetchStatus", null=True
                    ),
                ),
                ("error", models.TextField(blank=True, db_default="")),
            ],
            options={
                "verbose_name": "URL",
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
                        fields=["run", "state", "status", "id"],
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
            name="AddressClock",
            fields=[
                ("address", models.GenericIPAddressField(primary_key=True, serialize=False)),
                ("due_at", models.DateTimeField()),
            ],
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
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cookie_jars",
                        to="crawling.run",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cookie_jars",
                        to="crawling.host",
                    ),
                ),
                ("sealed", models.TextField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("run", "host"), name="one_jar_a_host_and_run")
                ],
            },
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
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(
                            ("status__lt", 0), ("status__gte", 500), _connector="OR"
                        ),
                        fields=["origin"],
                        name="robots_unavailable",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OwnRobotsFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="robots_files",
                        to="crawling.run",
                    ),
                ),
                (
                    "revision",
                    models.IntegerField(help_text="of the crawl's order for which it was had"),
                ),
                ("origin", models.CharField(db_collation="C", max_length=270)),
                ("status", models.SmallIntegerField()),
                ("body", models.BinaryField()),
                ("fetched_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "origin"), name="one_robots_file_an_origin"
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
                        on_delete=django.db.models.deletion.CASCADE,
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
            name="PageTargets",
            fields=[
                (
                    "url",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="targets",
                        serialize=False,
                        to="crawling.url",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="page_targets",
                        to="crawling.run",
                    ),
                ),
                (
                    "links",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), size=None
                    ),
                ),
                (
                    "redirect",
                    models.BigIntegerField(
                        help_text="which is as deep as the page itself", null=True
                    ),
                ),
                (
                    "is_behind",
                    models.BooleanField(
                        db_default=False,
                        help_text="the page is nearer by now than its targets were told",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("is_behind", True)),
                        fields=["run"],
                        name="targets_behind",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Reranking",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
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
        migrations.CreateModel(
            name="Verdict",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verdicts",
                        to="crawling.run",
                    ),
                ),
                ("fingerprint", models.BigIntegerField()),
                ("url", models.TextField()),
                (
                    "rule",
                    models.CharField(
                        help_text="of `crawling.orders.scope.filters.Rule`", max_length=20
                    ),
                ),
                ("sentence", models.TextField(help_text="what the rule said")),
                (
                    "revision",
                    models.CharField(
                        help_text="the rules that it was held against: `rules_key`", max_length=60
                    ),
                ),
                ("depth", models.SmallIntegerField()),
                ("hops", models.SmallIntegerField(help_text="of the page that led there")),
                (
                    "via",
                    models.BigIntegerField(
                        help_text="id of the URL on whose page it was met first", null=True
                    ),
                ),
                (
                    "links",
                    models.IntegerField(
                        help_text="pages it was met on, as far as shifts have told"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "fingerprint"), name="one_verdict_a_url_and_run"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="VerdictCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verdict_counts",
                        to="crawling.run",
                    ),
                ),
                ("rule", models.CharField(max_length=20)),
                ("kept", models.IntegerField(db_default=0, help_text="rows")),
                (
                    "more",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="addresses without a row; one met by two shifts counts twice",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "rule"), name="verdicts_are_counted_by_rule"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TrapPattern",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="patterns",
                        to="crawling.run",
                    ),
                ),
                (
                    "key",
                    models.BigIntegerField(
                        help_text="`crawling.orders.scope.trap_patterns.Pattern.key`"
                    ),
                ),
                ("pattern", models.TextField()),
                (
                    "rule",
                    models.CharField(
                        blank=True,
                        help_text="of `crawling.orders.scope.trap_patterns.REASONS`: why it is suspicious",
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("watched", "watched"),
                            ("quarantined", "quarantined"),
                            ("approved", "approved"),
                            ("banned", "banned"),
                        ],
                        default=crawling.orders.scope.trap_gate.TrapState["WATCHED"],
                        max_length=11,
                    ),
                ),
                ("fetched", models.IntegerField(db_default=0)),
                ("fresh", models.IntegerField(db_default=0)),
                ("found_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("rule", "one text")),
                        fields=["run"],
                        name="sites_of_one_text",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "key"), name="a_pattern_is_watched_once_a_run"
                    )
                ],
            },
        ),
    ]
