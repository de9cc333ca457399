"""What concerns all crawls: identity, access, listeners, notices, the disk, inquiries."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import migrations, models

from crawling.models.access import check_directory, check_network


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0005_pages"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Identity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "product_token",
                    models.CharField(
                        default="crawlsite",
                        help_text="the name that site owners may write into robots.txt",
                        max_length=64,
                        validators=[
                            RegexValidator(
                                "\\A[A-Za-z_-]{1,64}\\Z",
                                "Letters, - and _ only, as robots.txt will name it.",
                            )
                        ],
                    ),
                ),
                (
                    "contact_url",
                    models.CharField(
                        blank=True,
                        help_text="where site owners reach you: a page about the crawl, or mailto:you@example.org",
                        max_length=210,
                        validators=[
                            RegexValidator(
                                "\\A(https?://|mailto:)[!-~]{3,200}\\Z",
                                "Give a page (https://…) or a mailbox (mailto:…).",
                            )
                        ],
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "identity",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("pk", 1)), name="there_is_one_identity"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AllowedNetwork",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "network",
                    models.CharField(
                        help_text="like 10.1.0.0/16 or 127.0.0.1",
                        max_length=50,
                        validators=[check_network],
                    ),
                ),
                (
                    "port_from",
                    models.PositiveIntegerField(
                        default=80, validators=[MinValueValidator(1), MaxValueValidator(65535)]
                    ),
                ),
                (
                    "port_to",
                    models.PositiveIntegerField(
                        default=80, validators=[MinValueValidator(1), MaxValueValidator(65535)]
                    ),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="why, and who asked for it", max_length=200
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("network", "port_from", "port_to"), name="a_network_is_allowed_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("port_from__lte", models.F("port_to"))),
                        name="ports_run_upwards",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SharedNetwork",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "network",
                    models.CharField(
                        help_text="like 203.0.113.0/24 or 2001:db8::/32",
                        max_length=50,
                        unique=True,
                        validators=[check_network],
                    ),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="whose it is, and where that stands", max_length=200
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AllowedDirectory",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "path",
                    models.CharField(
                        help_text="like /srv/papers",
                        max_length=500,
                        unique=True,
                        validators=[check_directory],
                    ),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="why, and who asked for it", max_length=200
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "allowed directories",
            },
        ),
        migrations.CreateModel(
            name="TrustedProxy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "host",
                    models.CharField(
                        help_text="as crawls name it: a name or an address", max_length=253
                    ),
                ),
                (
                    "port",
                    models.PositiveIntegerField(
                        validators=[MinValueValidator(1), MaxValueValidator(65535)]
                    ),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="why, and who asked for it", max_length=200
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "trusted proxies",
                "constraints": [
                    models.UniqueConstraint(fields=("host", "port"), name="a_proxy_is_trusted_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Listener",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("url", models.TextField()),
                (
                    "sealed",
                    models.TextField(help_text="its secret, by `crawling.base.encrypted_text`"),
                ),
                ("events", ArrayField(base_field=models.CharField(max_length=20), size=None)),
                ("is_on", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("event", models.CharField(max_length=20)),
                (
                    "body",
                    models.TextField(
                        help_text="the facts, in JSON: what a webhook is sent, byte by byte"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                (
                    "next_try_at",
                    models.DateTimeField(
                        help_text="empty: it has arrived, or was given up", null=True
                    ),
                ),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True, help_text="of the last attempt, a sentence", max_length=300
                    ),
                ),
                (
                    "crawl",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="+",
                        to="crawling.crawljob",
                    ),
                ),
                (
                    "listener",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="deliveries", to="crawling.listener"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "deliveries",
                "ordering": ["-pk"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("next_try_at__isnull", False)),
                        fields=["next_try_at"],
                        name="deliveries_to_try",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="what it is the state of: `wait/RUN`, `unsafe/POOL`, `missing/POOL`",
                        max_length=100,
                        unique=True,
                    ),
                ),
                ("sentence", models.TextField()),
                ("since", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["key"],
            },
        ),
        migrations.CreateModel(
            name="DiskSample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("machine", models.CharField(max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("total", models.BigIntegerField()),
                ("free", models.BigIntegerField()),
                (
                    "archive",
                    models.BigIntegerField(help_text="in the archive files of this machine"),
                ),
                ("database", models.BigIntegerField()),
            ],
            options={
                "indexes": [models.Index(fields=["machine", "at"], name="disk_samples_in_time")],
            },
        ),
        migrations.CreateModel(
            name="Inquiry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("test_fetch", "test fetch"),
                            ("text_diff", "text comparison"),
                            ("robots", "explanation of robots.txt"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        blank=True, help_text="the same for the same question", max_length=64
                    ),
                ),
                ("sealed", models.TextField(help_text="the question: an order may have secrets")),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("began_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("answer", models.JSONField(null=True)),
                ("trouble", models.TextField(blank=True, help_text="why there is no answer")),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "inquiries",
                "indexes": [models.Index(fields=["key"], name="inquiries_by_key")],
            },
        ),
    ]
