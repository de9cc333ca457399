"""Collections, their members and share links. Written by `crawling.uses.collections` only."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from crawling.models import CrawlJob, Run, SecretLink
from crawling.models.jobs import NotDeletedManager


class Collection(models.Model):
    """Crawls and single stored pages under a name. Owner and team have the same meaning as for a
    crawl.
    """

    name = models.CharField(max_length=100)
    description = models.TextField(blank=True, default="")
    team = models.CharField(
        max_length=80,
        blank=True,
        default="",
        help_text="the team that it belongs to, by name; empty: none",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(
        default=timezone.now, help_text="when it was last edited, or a member came or went"
    )
    removal_asked_at = models.DateTimeField(
        null=True, help_text="when it was deleted; it can be restored for a day"
    )

    objects: models.Manager[Collection] = NotDeletedManager()
    all_objects: models.Manager[Collection] = models.Manager()

    class Meta:
        ordering = ["-pk"]
        base_manager_name = "all_objects"
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=Q(removal_asked_at=None),
                name="collections_differ_by_name",
            )
        ]

    def __str__(self) -> str:
        return self.name


class CollectionMember(models.Model):
    """A crawl with all its runs, or one stored page of a run.

    A page has no foreign key: its row does not exist while it is withdrawn.
    """

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="members")
    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="+")
    run = models.ForeignKey(
        Run, models.CASCADE, null=True, related_name="+", help_text="of a single page"
    )
    page = models.BigIntegerField(null=True, help_text="id of its URL in the run")
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "crawl"],
                condition=Q(page=None),
                name="a_crawl_is_in_a_collection_once",
            ),
            models.UniqueConstraint(
                fields=["collection", "page"],
                condition=Q(page__isnull=False),
                name="a_page_is_in_a_collection_once",
            ),
            models.CheckConstraint(
                condition=Q(page=None, run=None) | Q(page__isnull=False, run__isnull=False),
                name="a_single_page_has_its_run",
            ),
        ]

    def __str__(self) -> str:
        return f"page {self.page}" if self.page else f"crawl {self.crawl_id}"


class CollectionLink(SecretLink):
    """A link to the page of a collection."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="share_links")
