"""Pages, extracted rows, and pages that several crawls have requested.

Written by `crawling.frontier` only.
"""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models
from django.db.models import Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf, Upper

from crawling.models.archive import ArchiveFile
from crawling.models.frontier import Url
from crawling.models.jobs import Run
from crawling.orders.rendering import Rendering, explain_rendering
from crawling.web.documents.base import TruncationReason

IS_RENDERED = Q(rendering__gte=1, rendering__lt=Rendering.NEVER.value)
#: in an order that renders pages; a rendering that was ended left the plain page
IS_UNRENDERED = Q(rendering__lt=1) | Q(rendering__gte=Rendering.NEVER.value)
#: in any order
LACKS_BROWSER = Q(needs_browser=True) & (Q(rendering=None) | IS_UNRENDERED)


class Page(models.Model):
    """One answered fetch.

    A redirect is a page whose `final_url` is its target, fetched in its own turn.
    """

    url = models.OneToOneField(Url, models.CASCADE, primary_key=True, related_name="page")
    run = models.ForeignKey(Run, models.CASCADE, related_name="pages", db_index=False)
    status = models.SmallIntegerField()
    final_url = models.TextField()
    content_type = models.TextField(blank=True)
    charset = models.TextField(blank=True)
    title = models.TextField(blank=True)
    bytes = models.BigIntegerField()
    fingerprint = models.BigIntegerField(help_text="64 bits of the content (SEEDS W8)")
    digest = models.BinaryField(
        max_length=32,
        null=True,
        help_text="SHA-256 of the content, which settles what two fingerprints leave open",
    )
    duplicate_of = models.BigIntegerField(
        null=True, help_text="id of the URL that had the same content first in this run"
    )
    simhash = models.BigIntegerField(
        null=True, help_text="64 bits that pages of nearly the same text share but for a few"
    )
    canonical = models.TextField(
        blank=True,
        db_default="",
        help_text="canonical URL that the page states",
    )
    author = models.TextField(blank=True, db_default="")
    description = models.TextField(blank=True, db_default="")
    abstract = models.TextField(blank=True, db_default="", help_text="how its text begins")
    language = models.TextField(blank=True, db_default="")
    links = models.IntegerField(db_default=0, help_text="its links, in scope or not")
    needs_browser = models.BooleanField(
        db_default=False, help_text="its content needs scripts, which are not run"
    )
    rendering = models.SmallIntegerField(
        null=True,
        help_text="a `crawling.orders.rendering.Rendering`, or the fetch status of a rendering "
        "that was ended; empty: the order renders no page",
    )
    #: also `has_faults`, `view_digest` (SHA-256) and `plain_charset`, the charset of the answer
    rendition = models.JSONField(
        null=True,
        help_text="what the browser made of the page: `records`, the offset and length of each of "
        "its records in the page's archive file (dom, text, view, thumbnail), and what it noted: "
        "seconds, requests, bytes, memory_bytes, scrolls, console, failed; empty without a browser",
    )
    unread = models.CharField(
        max_length=10,
        blank=True,
        db_default="",
        help_text="a `crawling.web.documents.base.TruncationReason`: why not all of it was read; "
        "empty: all was",
    )
    last_modified = models.DateTimeField(null=True, help_text="as the server states it")
    expires_at = models.DateTimeField(
        null=True, help_text="until when the server lets it count as fresh"
    )
    etag = models.TextField(
        blank=True, db_default="", help_text="the server's identifier of this version"
    )
    unchanged_since = models.BigIntegerField(
        null=True, help_text="id of an earlier run's URL whose page is still as it was"
    )
    address = models.GenericIPAddressField(help_text="the address that answered")
    fetch_seconds = models.FloatField()
    fetched_at = models.DateTimeField()
    archive_file = models.ForeignKey(
        ArchiveFile, models.PROTECT, null=True, related_name="pages", db_index=False
    )
    archive_offset = models.BigIntegerField(
        null=True, help_text="offset of its response or revisit record in that file"
    )
    archive_length = models.BigIntegerField(
        null=True, help_text="bytes of that record in the file, compressed"
    )
    payload_sha256 = models.BinaryField(
        null=True, max_length=32, help_text="of the payload as it was encoded"
    )
    reused_from = models.BigIntegerField(
        null=True,
        help_text="id of the URL of another crawl that this answer was fetched for; 0: on "
        "another server",
    )
    is_revisit = models.BooleanField(db_default=False, help_text="the payload is in another record")
    payload_from = models.BigIntegerField(
        null=True,
        help_text="id of the URL of another run whose page's record has the payload; 0: on another "
        "server",
    )
    is_personal = models.BooleanField(
        db_default=False,
        help_text="asked for by headers, cookies, a login or a proxy: for its crawl alone",
    )
    is_imported = models.BooleanField(
        db_default=False,
        help_text="of a file that was imported: no server here was asked, so its crawl alone "
        "has it",
    )
    links_part = models.BigIntegerField(
        null=True, help_text="id of the part of the links dataset that has, or will have, its links"
    )

    class Meta:
        indexes = [
            models.Index(fields=["run", "fetched_at", "url"], name="pages_of_a_run_in_time"),
            models.Index(
                fields=["links_part"],
                condition=Q(links_part__isnull=False),
                name="pages_by_links_part",
            ),
            models.Index(fields=["run", "status", "fetched_at", "url"], name="pages_by_status"),
            models.Index(fields=["run", "bytes", "url"], name="pages_by_size"),
            models.Index(
                fields=["run", "fetched_at", "url"],
                condition=Q(rendition__has_faults=True),
                name="pages_with_faults",
            ),
            models.Index(
                fields=["run", "rendering"],
                condition=Q(rendering__isnull=False),
                name="pages_by_rendering",
            ),
            models.Index(
                fields=["run", "fetched_at", "url"],
                condition=LACKS_BROWSER,
                name="pages_lacking_a_browser",
            ),
            models.Index(
                fields=["run", "payload_from"],
                condition=Q(payload_from__isnull=False),
                name="payloads_of_other_runs",
            ),
            models.Index(
                fields=["payload_from"],
                condition=Q(payload_from__isnull=False),
                name="payloads_for_other_runs",
            ),
            models.Index(
                fields=["fingerprint", "run"],
                condition=Q(is_revisit=False, archive_file__isnull=False, status__lt=400),
                name="archived_payloads",
            ),
            models.Index(
                fields=["run", "fingerprint"],
                condition=Q(duplicate_of=None, digest__isnull=False),
                name="originals_of_a_run",
            ),
            models.Index(
                fields=["run", "duplicate_of", "url"],
                include=["bytes"],
                condition=Q(duplicate_of__isnull=False),
                name="duplicates_of_a_run",
            ),
            models.Index(
                fields=["run", "fetched_at", "url"],
                condition=Q(status__range=(300, 399)),
                name="redirects_of_a_run_in_time",
            ),
            models.Index(
                fields=["run", "fetched_at", "url"],
                condition=~Q(unread=""),
                name="pages_read_in_part",
            ),
            models.Index(
                fields=["run", "url"],
                condition=Q(links_part=None),
                name="pages_without_links_part",
            ),
            GinIndex(
                OpClass(Upper("final_url"), name="gin_trgm_ops"),
                OpClass(Upper("title"), name="gin_trgm_ops"),
                name="pages_by_words",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.final_url}"

    @property
    def why_unread(self) -> str:
        """A sentence; empty if the whole page was read."""
        return TruncationReason(self.unread).sentence if self.unread else ""

    @property
    def has_picture(self) -> bool:
        """Whether a browser has made a screenshot and a thumbnail of the page."""
        return "thumbnail" in ((self.rendition or {}).get("records") or {})

    @property
    def lacks_browser(self) -> bool:
        """Whether scripts make its content, and no browser has rendered it to the end."""
        is_rendered = self.rendering is not None and 0 < self.rendering < Rendering.NEVER
        return self.needs_browser and not is_rendered

    @property
    def why_rendering(self) -> str:
        """A sentence on why it was or was not rendered; empty if the order renders no page."""
        return "" if self.rendering is None else explain_rendering(self.rendering)


class FurtherRecord(models.Model):
    """A record of an import that is not the page of its URL: an earlier answer, an answer to a
    method other than GET, or a crawler's note about the page.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="further_records", db_index=False)
    url = models.ForeignKey(Url, models.CASCADE, related_name="further_records")
    target = models.TextField(
        blank=True, db_default="", help_text="of a note, its own address; empty: the URL's"
    )
    fetched_at = models.DateTimeField()
    status = models.SmallIntegerField()
    content_type = models.TextField(blank=True)
    bytes = models.BigIntegerField()
    method = models.CharField(
        max_length=20, blank=True, db_default="", help_text="empty: GET, or not known"
    )
    body = models.TextField(
        blank=True, db_default="", help_text="of the request, as indexes for replay have it"
    )
    archive_file = models.ForeignKey(
        ArchiveFile, models.PROTECT, related_name="further_records", db_index=False
    )
    archive_offset = models.BigIntegerField()
    archive_length = models.BigIntegerField()
    payload_sha256 = models.BinaryField(null=True, max_length=32)
    is_revisit = models.BooleanField(db_default=False, help_text="the payload is in another record")

    class Meta:
        indexes = [
            models.Index(fields=["run", "payload_sha256"], name="further_records_by_payload"),
            models.Index(
                fields=["archive_file", "archive_offset"], name="further_records_of_a_file"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status} {self.url_id}"

    @staticmethod
    def addresses() -> Combinable:
        """The address of each record, as a column of a query."""
        return Coalesce(NullIf("target", Value("", models.TextField())), "url__url")

    @property
    def stored(self) -> Page:
        """A page that is not in the database, with this record's place in the archive and the URL
        of its page.
        """
        return Page(
            url=self.url,
            run=self.run,
            archive_file=self.archive_file,
            archive_offset=self.archive_offset,
            archive_length=self.archive_length,
            bytes=self.bytes,
            status=self.status,
            content_type=self.content_type,
            fetched_at=self.fetched_at,
            is_revisit=self.is_revisit,
            payload_sha256=self.payload_sha256,
        )


class ExtractedRow(models.Model):
    """One match of an extraction rule on a page."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="extracted", db_index=False)
    url = models.ForeignKey(Url, models.CASCADE, related_name="extracted")
    name = models.CharField(max_length=100)
    value = models.TextField()

    class Meta:
        indexes = [models.Index(fields=["run", "id"], name="extracted_rows_of_a_run")]

    def __str__(self) -> str:
        return f"{self.name}: {self.value[:50]}"


class HotPage(models.Model):
    """A page that a crawl requested while another crawl's fetch of it was fresh.

    `heat`: see `crawling.frontier.rules.hotspots`.
    """

    fingerprint = models.BigIntegerField(unique=True)
    url = models.TextField()
    heat = models.FloatField(db_index=True)
    wanted = models.BigIntegerField(
        help_text="times a crawl wanted it that could have had another's"
    )
    reused = models.BigIntegerField(
        help_text="times it was taken; at the others the server had forbidden it, or the copy "
        "was gone"
    )
    wanted_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.url
