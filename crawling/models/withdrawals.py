"""Withdrawn pages. Written by `crawling.uses.withdrawals`;
`crawling.frontier.change.withdrawn_pages` moves the rows of pages.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from crawling.models.archive import ArchiveFile
from crawling.models.frontier import Url
from crawling.models.jobs import CrawlJob, Run
from crawling.models.pages import Page
from crawling.orders.scope.url_rules import UrlRule, UrlRuleKind


class Withdrawal(models.Model):
    """Stored pages of a crawl that are no longer shown, and whose records are removed from its
    files.
    """

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="withdrawals")
    run = models.ForeignKey(
        Run, models.CASCADE, null=True, related_name="withdrawals", help_text="empty: of all runs"
    )
    kind = models.CharField(
        max_length=10, choices=[(kind.value, kind.value) for kind in UrlRuleKind]
    )
    text = models.TextField(help_text="URL, regular expression of RE2, or host")
    reason = models.CharField(max_length=300)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        help_text="empty: the command line",
    )
    pages = models.IntegerField(db_default=0, help_text="how many it concerned")
    asked_at = models.DateTimeField(auto_now_add=True)
    rewrite_at = models.DateTimeField(
        help_text="since then its records are removed from the files; until then it can be undone"
    )
    began_at = models.DateTimeField(null=True, help_text="when the first file was rewritten")
    finished_at = models.DateTimeField(null=True, help_text="when all files were rewritten")
    undone_at = models.DateTimeField(null=True)
    trouble = models.TextField(blank=True, help_text="what the rewriting waits for")

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(
                fields=["rewrite_at"],
                condition=Q(finished_at=None, undone_at=None),
                name="withdrawals_to_be_finished",
            )
        ]

    def __str__(self) -> str:
        return f"withdrawal {self.pk}: {self.kind} {self.text}"

    @property
    def rule(self) -> UrlRule:
        return UrlRule(UrlRuleKind(self.kind), self.text)

    @property
    def state(self) -> str:
        """withdrawn, rewriting, removed or undone."""
        if self.undone_at:
            return "undone"
        if self.finished_at:
            return "removed"
        return "rewriting" if self.began_at else "withdrawn"


class WithdrawnPage(models.Model):
    """A page's row, taken out of the table of pages."""

    withdrawal = models.ForeignKey(Withdrawal, models.CASCADE, related_name="withdrawn_pages")
    url = models.ForeignKey(Url, models.CASCADE, related_name="withdrawn_pages")
    run = models.ForeignKey(Run, models.CASCADE, related_name="withdrawn_pages", db_index=False)
    content = models.JSONField(
        null=True,
        help_text="the row of the page, and its extracted rows; null: they are removed for good",
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["run"], condition=Q(content__isnull=False), name="withdrawn_pages_kept"
            )
        ]

    def __str__(self) -> str:
        return f"{self.url_id}"

    @property
    def stored(self) -> Page:
        """The place of its record in the archive, with the digest and size of its payload."""
        return page_at_place((self.content or {})["page"])

    @property
    def further(self) -> list[Page]:
        """The places of an import's further records for the URL, in the same form as in
        `stored`.
        """
        return [page_at_place(row) for row in (self.content or {}).get("further", ())]


def page_at_place(row: dict[str, Any]) -> Page:
    """The place of the record of a row that is stored as JSON, as a page without a row."""
    return Page(
        archive_file_id=row["archive_file_id"],
        archive_offset=row["archive_offset"],
        archive_length=row["archive_length"],
        bytes=row["bytes"],
        payload_sha256=bytes.fromhex(row["payload_sha256"].removeprefix("\\x")),
    )


class WithdrawalFile(models.Model):
    """A file of the archive that may contain records of a withdrawal. The row exists until the file
    is read and, if it contains some, rewritten.
    """

    withdrawal = models.ForeignKey(Withdrawal, models.CASCADE, related_name="files")
    file = models.ForeignKey(ArchiveFile, models.CASCADE, related_name="withdrawals")
    length = models.BigIntegerField(help_text="its committed length when the pages were taken down")
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["withdrawal", "file"], name="one_row_a_withdrawal_and_file"
            )
        ]
        indexes = [
            models.Index(fields=["file"], condition=Q(done_at=None), name="files_to_be_rewritten")
        ]

    def __str__(self) -> str:
        return f"{self.withdrawal_id} {self.file_id}"
