"""Names with their addresses, flushes, pins, counts, name servers and pre-resolvers."""

import django.contrib.postgres.fields
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="DnsMinute",
            fields=[
                ("minute", models.DateTimeField(primary_key=True, serialize=False)),
                (
                    "memory",
                    models.PositiveIntegerField(help_text="answers from a process's memory"),
                ),
                (
                    "database",
                    models.PositiveIntegerField(
                        help_text="answers from PostgreSQL: those pre-resolved, among others"
                    ),
                ),
                (
                    "lookup",
                    models.PositiveIntegerField(help_text="answers that a process had to wait for"),
                ),
                (
                    "stale",
                    models.PositiveIntegerField(
                        help_text="of all three, those past their life, and flagged so"
                    ),
                ),
                (
                    "waited_seconds",
                    models.FloatField(help_text="what hosts waited for their names"),
                ),
                (
                    "waits",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveIntegerField(),
                        help_text="how many waited how long, by the classes of WAITS",
                        size=8,
                    ),
                ),
                ("asked", models.PositiveIntegerField(help_text="look-ups begun")),
                (
                    "answered",
                    models.PositiveIntegerField(
                        db_default=0,
                        help_text="look-ups that a name server answered, even with no such name",
                    ),
                ),
                ("failed", models.PositiveIntegerField(help_text="look-ups without an answer")),
                (
                    "cut",
                    models.PositiveIntegerField(help_text="look-ups that went on in the slow lane"),
                ),
            ],
            options={
                "verbose_name": "DNS minute",
            },
        ),
        migrations.CreateModel(
            name="DnsServer",
            fields=[
                ("server", models.CharField(max_length=64, primary_key=True, serialize=False)),
                (
                    "per_second",
                    models.PositiveIntegerField(
                        db_default=200, help_text="look-ups a second, by all processes together"
                    ),
                ),
                (
                    "tokens",
                    models.FloatField(
                        db_default=200,
                        help_text="look-ups that may begin at once; below 0: asked too much",
                    ),
                ),
                (
                    "taken_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
            ],
            options={
                "verbose_name": "name server",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("per_second__range", (1, 100000))),
                        name="dns_server_may_be_asked",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DnsServerMinute",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "minute",
                        "server",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("minute", models.DateTimeField()),
                ("server", models.CharField(max_length=64)),
                ("asked", models.PositiveIntegerField(help_text="look-ups and further tries")),
                ("answered", models.PositiveIntegerField(help_text="of these, answered")),
                (
                    "failed",
                    models.PositiveIntegerField(
                        help_text="answered with an error, or did not answer"
                    ),
                ),
                (
                    "silent",
                    models.PositiveIntegerField(help_text="not answered within the time of a try"),
                ),
                ("over_tcp", models.PositiveIntegerField(help_text="questions repeated over TCP")),
                (
                    "milliseconds",
                    models.PositiveBigIntegerField(help_text="all answers took together"),
                ),
                ("longest_ms", models.PositiveIntegerField(help_text="the longest answer")),
            ],
            options={
                "verbose_name": "name server minute",
            },
        ),
        migrations.CreateModel(
            name="DnsDropped",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("name", models.CharField(max_length=253)),
                ("region", models.PositiveSmallIntegerField()),
                (
                    "weight",
                    models.FloatField(help_text="fetch threads that keeping it would have saved"),
                ),
                ("why", models.CharField(max_length=40)),
            ],
            options={
                "verbose_name": "DNS eviction",
            },
        ),
        migrations.CreateModel(
            name="DnsPin",
            fields=[
                ("name", models.CharField(max_length=253, primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "verbose_name": "DNS pin",
            },
        ),
        migrations.CreateModel(
            name="DnsEntry",
            fields=[
                (
                    "name",
                    models.CharField(
                        db_collation="C", max_length=253, primary_key=True, serialize=False
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("ok", "has addresses"),
                            ("nxdomain", "no such name"),
                            ("nodata", "no address"),
                            ("servfail", "name server failed"),
                            ("timeout", "no answer in time"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "addresses",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.GenericIPAddressField(),
                        help_text="IPv4 first; in the server's order",
                        size=None,
                    ),
                ),
                (
                    "address_classes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("public", "public"),
                                ("private", "private"),
                                ("loopback", "loopback"),
                                ("link_local", "link_local"),
                                ("unspecified", "unspecified"),
                                ("multicast", "multicast"),
                                ("reserved", "reserved"),
                            ],
                            max_length=12,
                        ),
                        help_text="the kind of network of each address",
                        size=None,
                    ),
                ),
                (
                    "canonical",
                    models.CharField(
                        blank=True, help_text="the name at the end of the aliases", max_length=253
                    ),
                ),
                (
                    "rcode",
                    models.PositiveSmallIntegerField(
                        blank=True, help_text="DNS response code; empty if none came", null=True
                    ),
                ),
                (
                    "ttl",
                    models.PositiveIntegerField(
                        help_text="seconds, the least of the chain; 0 for a failure"
                    ),
                ),
                (
                    "resolve_ms",
                    models.PositiveIntegerField(help_text="milliseconds the look-up took"),
                ),
                ("resolved_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "retry_at",
                    models.DateTimeField(
                        blank=True, help_text="after a failure: not asked again before", null=True
                    ),
                ),
                (
                    "fails",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="look-ups in a row that failed"
                    ),
                ),
                (
                    "registrable",
                    models.CharField(
                        blank=True,
                        db_collation="C",
                        help_text="registered domain (public suffix list)",
                        max_length=253,
                    ),
                ),
                (
                    "region",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "forward"), (2, "reverse")],
                        default=2,
                        help_text="quick, or slow or failing",
                    ),
                ),
                (
                    "cost_seconds",
                    models.FloatField(
                        default=0, help_text="seconds a look-up usually takes, or burns"
                    ),
                ),
                (
                    "hits",
                    models.FloatField(
                        default=1,
                        help_text="uses in the memory that wrote the row, halved every ten minutes",
                    ),
                ),
                (
                    "last_access",
                    models.DateTimeField(blank=True, help_text="last use there", null=True),
                ),
                (
                    "weight",
                    models.FloatField(
                        default=0,
                        help_text="fetch threads saved by keeping the answer, when it was written",
                    ),
                ),
                (
                    "upstream",
                    models.CharField(
                        blank=True, help_text="the name server that answered", max_length=64
                    ),
                ),
                ("error", models.TextField(blank=True)),
            ],
            options={
                "verbose_name": "DNS entry",
                "verbose_name_plural": "DNS entries",
                "ordering": ["name"],
                "indexes": [
                    models.Index(
                        models.OrderBy(models.F("weight"), descending=True),
                        name="dns_heaviest_first",
                    ),
                    models.Index(models.F("registrable"), name="dns_by_registrable"),
                    models.Index(
                        models.F("name"),
                        condition=models.Q(("status", "ok"), _negated=True),
                        name="dns_without_address",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("addresses__len__range", (1, 32)), ("status", "ok")),
                            models.Q(
                                models.Q(("status", "ok"), _negated=True), ("addresses__len", 0)
                            ),
                            _connector="OR",
                        ),
                        name="dns_addresses_exactly_when_ok",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("address_classes__len", models.F("addresses__len"))),
                        name="dns_every_address_has_a_class",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("fails__gt", 0),
                                ("retry_at__gt", models.F("resolved_at")),
                                ("status__in", ["ok", "servfail", "timeout"]),
                            ),
                            models.Q(
                                ("fails", 0),
                                ("retry_at", None),
                                ("status__in", ["ok", "nxdomain", "nodata"]),
                            ),
                            _connector="OR",
                        ),
                        name="dns_retry_exactly_after_a_failure",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("expires_at__gte", models.F("resolved_at")), ("ttl__lte", 86400)
                        ),
                        name="dns_life_is_within_bounds",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("region", 2),
                            models.Q(("fails", 0), ("region", 1), ("status", "ok")),
                            _connector="OR",
                        ),
                        name="dns_trouble_is_in_the_reverse_region",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DnsFlush",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(), db_index=True
                    ),
                ),
                (
                    "scope",
                    models.CharField(
                        choices=[
                            ("name", "one name"),
                            ("domain", "a registered name with all below it"),
                            ("reverse", "the whole negative region"),
                            ("all", "everything"),
                        ],
                        max_length=8,
                    ),
                ),
                ("value", models.CharField(blank=True, max_length=253)),
            ],
            options={
                "verbose_name": "DNS flush",
                "verbose_name_plural": "DNS flushes",
            },
        ),
        migrations.CreateModel(
            name="DnsPreResolver",
            fields=[
                ("machine", models.CharField(max_length=253, primary_key=True, serialize=False)),
                ("beat_at", models.DateTimeField()),
                ("slots", models.PositiveIntegerField(help_text="look-ups that may be in flight")),
                ("main_threads", models.PositiveIntegerField()),
                (
                    "main_depth",
                    models.PositiveIntegerField(
                        help_text="names in the main lane, those being asked for included"
                    ),
                ),
                ("slow_threads", models.PositiveIntegerField()),
                ("slow_depth", models.PositiveIntegerField()),
                ("names", models.PositiveIntegerField(help_text="answers in its memory")),
                ("threads_saved", models.FloatField(help_text="the sum of their weights")),
                ("counts", models.JSONField(help_text="results of names since it started")),
            ],
            options={
                "verbose_name": "DNS pre-resolver",
            },
        ),
    ]
