"""Archive files, pages and what was extracted from them, counts of runs, and the log."""

import uuid

import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

#: near texts share one band of 16 bits at least; only originals are looked up
BAND = """
CREATE INDEX pages_by_band_{band} ON crawling_page (run_id, ((simhash >> {shift}) & 65535))
 WHERE simhash IS NOT NULL AND duplicate_of IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0003_urls_and_hosts"),
    ]

    operations = [
        migrations.CreateModel(
            name="ArchiveFile",
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
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="archive_files",
                        to="crawling.run",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="in a directory of its run's", max_length=200, unique=True
                    ),
                ),
                (
                    "namespace",
                    models.UUIDField(
                        default=uuid.uuid4, help_text="with an offset it makes a record's id"
                    ),
                ),
                ("machine", models.CharField(max_length=64)),
                ("slot", models.PositiveSmallIntegerField()),
                ("committed_length", models.BigIntegerField(db_default=0)),
                ("opened_at", models.DateTimeField(auto_now_add=True)),
                (
                    "sealed_at",
                    models.DateTimeField(
                        help_text="since then it is complete, and nothing is beyond the committed length",
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("sealed_at", None)),
                        fields=["run", "machine", "slot"],
                        name="archive_files_open",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("name__regex", "^run[0-9]{1,19}-[A-Za-z0-9._-]+[.]warc[.]gz$")
                        ),
                        name="archive_files_named_as_ours",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("committed_length__range", (0, 1099511627776))),
                        name="archive_files_of_a_length",
                    ),
                ],
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
            name="LinksPart",
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
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="links_parts",
                        to="crawling.run",
                    ),
                ),
                ("name", models.CharField(max_length=80, unique=True)),
                ("machine", models.CharField(max_length=64)),
                (
                    "shift",
                    models.BigIntegerField(
                        help_text="id of the shift that collects it; null: read from the archive",
                        null=True,
                    ),
                ),
                ("opened_at", models.DateTimeField(auto_now_add=True)),
                ("collected_at", models.DateTimeField(null=True)),
                ("written_at", models.DateTimeField(null=True)),
                (
                    "read_at",
                    models.DateTimeField(
                        help_text="when a second reading of its pages was stored", null=True
                    ),
                ),
                (
                    "indexed_at",
                    models.DateTimeField(
                        help_text="when the texts of its pages were in the search index", null=True
                    ),
                ),
                ("links", models.BigIntegerField(db_default=0)),
                ("bytes", models.BigIntegerField(db_default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("written_at", None)),
                        fields=["run"],
                        name="links_parts_unwritten",
                    ),
                    models.Index(
                        condition=models.Q(("indexed_at", None)),
                        fields=["run"],
                        name="links_parts_unindexed",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("name__regex", "^links[0-9]{1,19}/[0-9a-f]{32}[.]parquet$")
                        ),
                        name="links_parts_named_as_ours",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Page",
            fields=[
                (
                    "url",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="page",
                        serialize=False,
                        to="crawling.url",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pages",
                        to="crawling.run",
                    ),
                ),
                ("status", models.SmallIntegerField()),
                ("final_url", models.TextField()),
                ("content_type", models.TextField(blank=True)),
                ("charset", models.TextField(blank=True)),
                ("title", models.TextField(blank=True)),
                ("bytes", models.BigIntegerField()),
                (
                    "fingerprint",
                    models.BigIntegerField(help_text="64 bits of the content (SEEDS W8)"),
                ),
                (
                    "digest",
                    models.BinaryField(
                        help_text="SHA-256 of the content, which settles what two fingerprints leave open",
                        max_length=32,
                        null=True,
                    ),
                ),
                (
                    "duplicate_of",
                    models.BigIntegerField(
                        help_text="id of the URL that had the same content first in this run",
                        null=True,
                    ),
                ),
                (
                    "simhash",
                    models.BigIntegerField(
                        help_text="64 bits that pages of nearly the same text share but for a few",
                        null=True,
                    ),
                ),
                (
                    "canonical",
                    models.TextField(
                        blank=True, db_default="", help_text="canonical URL that the page states"
                    ),
                ),
                ("author", models.TextField(blank=True, db_default="")),
                ("description", models.TextField(blank=True, db_default="")),
                (
                    "abstract",
                    models.TextField(blank=True, db_default="", help_text="how its text begins"),
                ),
                ("language", models.TextField(blank=True, db_default="")),
                (
                    "links",
                    models.IntegerField(db_default=0, help_text="its links, in scope or not"),
                ),
                (
                    "needs_browser",
                    models.BooleanField(
                        db_default=False, help_text="its content needs scripts, which are not run"
                    ),
                ),
                (
                    "unread",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="a `crawling.web.documents.base.TruncationReason`: why not all of it was read; empty: all was",
                        max_length=10,
                    ),
                ),
                (
                    "last_modified",
                    models.DateTimeField(help_text="as the server states it", null=True),
                ),
                (
                    "expires_at",
                    models.DateTimeField(
                        help_text="until when the server lets it count as fresh", null=True
                    ),
                ),
                (
                    "etag",
                    models.TextField(
                        blank=True,
                        db_default="",
                        help_text="the server's identifier of this version",
                    ),
                ),
                (
                    "unchanged_since",
                    models.BigIntegerField(
                        help_text="id of an earlier run's URL whose page is still as it was",
                        null=True,
                    ),
                ),
                ("address", models.GenericIPAddressField(help_text="the address that answered")),
                ("fetch_seconds", models.FloatField()),
                ("fetched_at", models.DateTimeField()),
                (
                    "archive_file",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pages",
                        to="crawling.archivefile",
                    ),
                ),
                (
                    "archive_offset",
                    models.BigIntegerField(
                        help_text="offset of its response or revisit record in that file", null=True
                    ),
                ),
                (
                    "archive_length",
                    models.BigIntegerField(
                        help_text="bytes of that record in the file, compressed", null=True
                    ),
                ),
                (
                    "payload_sha256",
                    models.BinaryField(
                        help_text="of the payload as it was encoded", max_length=32, null=True
                    ),
                ),
                (
                    "reused_from",
                    models.BigIntegerField(
                        help_text="id of the URL of another crawl that this answer was fetched for; 0: on another server",
                        null=True,
                    ),
                ),
                (
                    "is_revisit",
                    models.BooleanField(
                        db_default=False, help_text="the payload is in another record"
                    ),
                ),
                (
                    "payload_from",
                    models.BigIntegerField(
                        help_text="id of the URL of another run whose page's record has the payload; 0: on another server",
                        null=True,
                    ),
                ),
                (
                    "is_personal",
                    models.BooleanField(
                        db_default=False,
                        help_text="asked for by headers, cookies, a login or a proxy: for its crawl alone",
                    ),
                ),
                (
                    "is_imported",
                    models.BooleanField(
                        db_default=False,
                        help_text="of a file that was imported: no server here was asked, so its crawl alone has it",
                    ),
                ),
                (
                    "links_part",
                    models.BigIntegerField(
                        help_text="id of the part of the links dataset that has, or will have, its links",
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["run", "fetched_at", "url"], name="pages_of_a_run_in_time"
                    ),
                    models.Index(
                        condition=models.Q(("links_part__isnull", False)),
                        fields=["links_part"],
                        name="pages_by_links_part",
                    ),
                    models.Index(
                        condition=models.Q(("status__gte", 400)),
                        fields=["run", "status", "fetched_at", "url"],
                        name="error_pages_in_time",
                    ),
                    models.Index(
                        condition=models.Q(("payload_from__isnull", False)),
                        fields=["run", "payload_from"],
                        name="payloads_of_other_runs",
                    ),
                    models.Index(
                        condition=models.Q(("payload_from__isnull", False)),
                        fields=["payload_from"],
                        name="payloads_for_other_runs",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("archive_file__isnull", False),
                            ("is_revisit", False),
                            ("status__lt", 400),
                        ),
                        fields=["fingerprint", "run"],
                        name="archived_payloads",
                    ),
                    models.Index(
                        condition=models.Q(("digest__isnull", False), ("duplicate_of", None)),
                        fields=["run", "fingerprint"],
                        name="originals_of_a_run",
                    ),
                    models.Index(
                        condition=models.Q(("duplicate_of__isnull", False)),
                        fields=["run", "duplicate_of", "url"],
                        include=("bytes",),
                        name="duplicates_of_a_run",
                    ),
                    models.Index(
                        condition=models.Q(("status__range", (300, 399))),
                        fields=["run", "fetched_at", "url"],
                        name="redirects_of_a_run_in_time",
                    ),
                    models.Index(
                        condition=models.Q(("unread", ""), _negated=True),
                        fields=["run", "fetched_at", "url"],
                        name="pages_read_in_part",
                    ),
                    models.Index(
                        condition=models.Q(("links_part", None)),
                        fields=["run", "url"],
                        name="pages_without_links_part",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Upper("final_url"), name="gin_trgm_ops"
                        ),
                        django.contrib.postgres.indexes.OpClass(
                            django.db.models.functions.text.Upper("title"), name="gin_trgm_ops"
                        ),
                        name="pages_by_words",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FurtherRecord",
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
                        related_name="further_records",
                        to="crawling.run",
                    ),
                ),
                (
                    "url",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="further_records",
                        to="crawling.url",
                    ),
                ),
                (
                    "target",
                    models.TextField(
                        blank=True,
                        db_default="",
                        help_text="of a note, its own address; empty: the URL's",
                    ),
                ),
                ("fetched_at", models.DateTimeField()),
                ("status", models.SmallIntegerField()),
                ("content_type", models.TextField(blank=True)),
                ("bytes", models.BigIntegerField()),
                (
                    "method",
                    models.CharField(
                        blank=True,
                        db_default="",
                        help_text="empty: GET, or not known",
                        max_length=20,
                    ),
                ),
                (
                    "body",
                    models.TextField(
                        blank=True,
                        db_default="",
                        help_text="of the request, as indexes for replay have it",
                    ),
                ),
                (
                    "archive_file",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="further_records",
                        to="crawling.archivefile",
                    ),
                ),
                ("archive_offset", models.BigIntegerField()),
                ("archive_length", models.BigIntegerField()),
                ("payload_sha256", models.BinaryField(max_length=32, null=True)),
                (
                    "is_revisit",
                    models.BooleanField(
                        db_default=False, help_text="the payload is in another record"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["run", "payload_sha256"], name="further_records_by_payload"
                    ),
                    models.Index(
                        fields=["archive_file", "archive_offset"], name="further_records_of_a_file"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ExtractedRow",
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
                        related_name="extracted",
                        to="crawling.run",
                    ),
                ),
                (
                    "url",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="extracted",
                        to="crawling.url",
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("value", models.TextField()),
            ],
            options={
                "indexes": [models.Index(fields=["run", "id"], name="extracted_rows_of_a_run")],
            },
        ),
        migrations.CreateModel(
            name="HotPage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("fingerprint", models.BigIntegerField(unique=True)),
                ("url", models.TextField()),
                ("heat", models.FloatField(db_index=True)),
                (
                    "wanted",
                    models.BigIntegerField(
                        help_text="times a crawl wanted it that could have had another's"
                    ),
                ),
                (
                    "reused",
                    models.BigIntegerField(
                        help_text="times it was taken; at the others the server had forbidden it, or the copy was gone"
                    ),
                ),
                ("wanted_at", models.DateTimeField()),
            ],
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
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="counts",
                        to="crawling.run",
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
                (
                    "saved_bytes",
                    models.BigIntegerField(
                        db_default=0,
                        help_text="of archive files, by payloads that were stored before",
                    ),
                ),
                ("bytes", models.BigIntegerField(db_default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["minute"], name="counts_by_minute"),
                    models.Index(
                        fields=["run", "minute"],
                        include=("fetched", "failed", "discovered", "bytes"),
                        name="counts_charted",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "process_number", "minute"),
                        name="counts_by_process_and_minute",
                    )
                ],
            },
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
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="status_counts",
                        to="crawling.run",
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
            name="RunTotal",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
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
                ("saved_bytes", models.BigIntegerField(db_default=0)),
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
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="log",
                        to="crawling.run",
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
        *(
            migrations.RunSQL(
                BAND.format(band=band, shift=16 * band), f"DROP INDEX pages_by_band_{band}"
            )
            for band in range(4)
        ),
    ]
