"""Data derived from stored pages, by parts. Written by `crawling.datasets`."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from crawling.models.jobs import Run

#: the name of a file in the storage: the folder of its run, and a name that is used only once
NAME = r"^links[0-9]{1,19}/[0-9a-f]{32}[.]parquet$"


class LinksPart(models.Model):
    """A Parquet file with the links of some pages of a run, namely the pages that name it.

    A shift collects links and stores them as they were written, and sets `collected_at`. A
    background job makes the file from them, and sets `written_at`. Another job reads the pages
    again from the archive, and adds their texts to the search index. The files of a part without a
    run are to be removed.
    """

    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="links_parts")
    name = models.CharField(max_length=80, unique=True)
    machine = models.CharField(max_length=64)
    shift = models.BigIntegerField(
        null=True, help_text="id of the work session that collects it; null: read from the archive"
    )
    opened_at = models.DateTimeField(auto_now_add=True)
    collected_at = models.DateTimeField(null=True)
    written_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True, help_text="when the indexing of its pages was stored")
    indexed_at = models.DateTimeField(
        null=True, help_text="when the texts of its pages were in the search index"
    )
    links = models.BigIntegerField(db_default=0)
    bytes = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(name__regex=NAME), name="links_parts_named_as_ours")
        ]
        indexes = [
            models.Index(
                fields=["run"], condition=Q(written_at=None), name="links_parts_unwritten"
            ),
            models.Index(
                fields=["run"], condition=Q(indexed_at=None), name="links_parts_unindexed"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def collected_name(self) -> str:
        return self.name.removesuffix("parquet") + "collected"

    @property
    def findings_name(self) -> str:
        return self.name.removesuffix("parquet") + "findings.parquet"

    @property
    def texts_name(self) -> str:
        return self.name.removesuffix("parquet") + "texts.parquet"

    @property
    def structured_name(self) -> str:
        return self.name.removesuffix("parquet") + "structured.parquet"

    @property
    def reading_names(self) -> tuple[str, str, str]:
        return self.findings_name, self.texts_name, self.structured_name
