"""What is derived from stored pages. Parts of the links dataset are written by `crawling.links`,
link graphs by `crawling.link_graph`.
"""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from crawling.models.cancelling import Cancellable
from crawling.models.jobs import Run

#: of a file in the storage: its run's folder, and a name that is never used again
NAME = r"^links[0-9]{1,19}/[0-9a-f]{32}[.]parquet$"
GRAPH_NAME = r"^graph[0-9]{1,19}/[0-9a-f]{32}$"


class LinksPart(models.Model):
    """A Parquet file with the links of some pages of a run: of those that name it.

    A shift collects links and stores them as they were written; since then the part has
    `collected_at`. A background job makes the file of them; since then it has `written_at`. Another
    reads its pages again from the archive, and adds their texts to the search index. Without a run
    its files are to be removed.
    """

    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="links_parts")
    name = models.CharField(max_length=80, unique=True)
    machine = models.CharField(max_length=64)
    shift = models.BigIntegerField(
        null=True, help_text="id of the shift that collects it; null: read from the archive"
    )
    opened_at = models.DateTimeField(auto_now_add=True)
    collected_at = models.DateTimeField(null=True)
    written_at = models.DateTimeField(null=True)
    read_at = models.DateTimeField(
        null=True, help_text="when a second reading of its pages was stored"
    )
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
        """Of the file with what the shift collected."""
        return self.name.removesuffix("parquet") + "collected"

    @property
    def findings_name(self) -> str:
        """Of the file with what a second reading of its pages found."""
        return self.name.removesuffix("parquet") + "findings.parquet"

    @property
    def texts_name(self) -> str:
        """Of the file with the texts of its pages."""
        return self.name.removesuffix("parquet") + "texts.parquet"

    @property
    def structured_name(self) -> str:
        """Of the file with the structured data of its pages."""
        return self.name.removesuffix("parquet") + "structured.parquet"

    @property
    def reading_names(self) -> tuple[str, str, str]:
        """Of the files that a second reading of its pages writes."""
        return self.findings_name, self.texts_name, self.structured_name


class LinkGraph(Cancellable):
    """The link graph of a run as a background job computed it, in files beside the archive.

    Since a job took it up it has `began_at`; since the files are there, or `trouble` says why not,
    `ended_at`. Without a run its files are to be removed.
    """

    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="link_graphs")
    name = models.CharField(
        max_length=80, unique=True, help_text="what the names of its files begin with"
    )
    machine = models.CharField(max_length=64)
    asked_at = models.DateTimeField(auto_now_add=True)
    began_at = models.DateTimeField(null=True, help_text="since when its pages are read")
    attempts = models.SmallIntegerField(db_default=0, help_text="to do the step that is next")
    broken_steps = models.SmallIntegerField(
        db_default=0, help_text="how often the step that is next was broken off for others"
    )
    waits = models.TextField(
        blank=True, db_default="", help_text="why no job is at it; empty: one is, or none is known"
    )
    ended_at = models.DateTimeField(null=True)
    trouble = models.TextField(blank=True, db_default="", help_text="why it was not computed")
    behind = models.IntegerField(
        db_default=0, help_text="pages whose links were not in the dataset yet, if counted"
    )
    pages = models.BigIntegerField(db_default=0)
    links = models.BigIntegerField(db_default=0, help_text="between two pages, each pair once")
    hosts = models.BigIntegerField(db_default=0)
    weak_components = models.BigIntegerField(db_default=0)
    strong_components = models.BigIntegerField(db_default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(name__regex=GRAPH_NAME), name="link_graphs_named_as_ours"
            ),
            models.UniqueConstraint(
                fields=["run"], condition=Q(ended_at=None), name="one_open_link_graph_a_run"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> str:
        """waiting, working, computed, cancelled or failed."""
        if self.cancelled_at:
            return "cancelled"
        if self.ended_at:
            return "failed" if self.trouble else "computed"
        return "working" if self.began_at and not self.waits else "waiting"

    def file(self, table: str) -> str:
        """The name of the file with one of its tables."""
        return f"{self.name}.{table}.parquet"
