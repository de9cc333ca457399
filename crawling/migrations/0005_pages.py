"""Archive files, pages, and what was extracted from them."""

import uuid

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import migrations, models
from django.db.models.functions.text import Upper

#: near texts share one band of 16 bits at least; only originals are looked up
BAND = """
CREATE INDEX pages_by_band_{band} ON crawling_page (run_id, ((simhash >> {shift}) & 65535))
 WHERE simhash IS NOT NULL AND duplicate_of IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0004_scope"),
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
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.SET_NULL,
                        related_name="archive_files",
                        to="crawling.run",
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
            name="Page",
            fields=[
                (
                    "url",
                    models.OneToOneField(
                        on_delete=models.CASCADE,
                        primary_key=True,
                        related_name="page",
                        serialize=False,
                        to="crawling.url",
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
                        blank=True,
                        db_default="",
                        help_text="the address by which the page itself wants to be known",
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
                    models.IntegerField(
                        db_default=0, help_text="addresses it leads to, in scope or not"
                    ),
                ),
                (
                    "needs_browser",
                    models.BooleanField(
                        db_default=False, help_text="scripts make its content, and they are not run"
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
                        blank=True, db_default="", help_text="the server's mark of this version"
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
                    "archive_offset",
                    models.BigIntegerField(
                        help_text="where its response or revisit record begins in that file",
                        null=True,
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
                    "is_personal",
                    models.BooleanField(
                        db_default=False,
                        help_text="asked for by headers, cookies, a login or a proxy: for its crawl alone",
                    ),
                ),
                (
                    "archive_file",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="pages",
                        to="crawling.archivefile",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="pages",
                        to="crawling.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["run", "fetched_at", "url"], name="pages_of_a_run_in_time"
                    ),
                    models.Index(
                        condition=models.Q(("unchanged_since__isnull", False)),
                        fields=["run", "unchanged_since"],
                        name="pages_unchanged_since",
                    ),
                    models.Index(
                        condition=models.Q(("archive_file__isnull", False), ("is_revisit", False)),
                        fields=["run", "fingerprint"],
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
                    GinIndex(
                        OpClass(Upper("final_url"), name="gin_trgm_ops"),
                        OpClass(Upper("title"), name="gin_trgm_ops"),
                        name="pages_by_words",
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
                ("name", models.CharField(max_length=100)),
                ("value", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.CASCADE,
                        related_name="extracted",
                        to="crawling.run",
                    ),
                ),
                (
                    "url",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="extracted", to="crawling.url"
                    ),
                ),
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
        *(
            migrations.RunSQL(
                BAND.format(band=band, shift=16 * band), f"DROP INDEX pages_by_band_{band}"
            )
            for band in range(4)
        ),
    ]
