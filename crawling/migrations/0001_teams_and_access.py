"""Teams and their rule, identity, networks and directories."""

import django.core.validators
from django.conf import settings
from django.db import migrations, models

import crawling.models.access


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "__first__"),
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
                (
                    "members",
                    models.ManyToManyField(
                        blank=True, related_name="teams", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="TeamRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "own_crawls_only",
                    models.BooleanField(
                        help_text="whether operators act on crawls of their own and of their teams only"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("pk", 1)), name="there_is_one_team_rule"
                    )
                ],
            },
        ),
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
                            django.core.validators.RegexValidator(
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
                        help_text="contact for site owners: a page about the crawl, or mailto:you@example.org",
                        max_length=210,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A(https?://|mailto:)[!-~]{3,200}\\Z",
                                "Give a page (https://…) or a mailbox (mailto:…).",
                            )
                        ],
                    ),
                ),
                (
                    "purpose",
                    models.TextField(
                        blank=True,
                        help_text="what you crawl for and what becomes of the pages; site owners read it",
                        max_length=2000,
                    ),
                ),
                (
                    "addresses",
                    models.TextField(
                        blank=True,
                        help_text="the networks that your crawls come from, one a line; site owners check them",
                        max_length=1000,
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
                        validators=[crawling.models.access.check_network],
                    ),
                ),
                (
                    "port_from",
                    models.PositiveIntegerField(
                        default=80,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(65535),
                        ],
                    ),
                ),
                (
                    "port_to",
                    models.PositiveIntegerField(
                        default=80,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(65535),
                        ],
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
                        validators=[crawling.models.access.check_directory],
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
                        validators=[crawling.models.access.check_network],
                    ),
                ),
                (
                    "note",
                    models.CharField(
                        blank=True, help_text="whose it is, and where that stands", max_length=200
                    ),
                ),
            ],
            options={
                "abstract": False,
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
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(65535),
                        ]
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
    ]
