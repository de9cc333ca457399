"""Watches of stored pages, and their findings. Written by `crawling.uses.watches` only."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from crawling.models.jobs import CrawlJob, NotDeletedManager, Run
from crawling.orders.scope.url_rules import UrlRule, UrlRuleKind


class PageEvent(models.TextChoices):
    """The change of a page since an earlier run."""

    CHANGED = "changed", "page changed"
    GONE = "gone", "page gone"
    NEW = "new", "new page"


class Watch(models.Model):
    """A subscription to changes of some pages of a crawl."""

    crawl = models.ForeignKey(CrawlJob, models.CASCADE, related_name="watches")
    kind = models.CharField(max_length=10, choices=[(kind, kind.value) for kind in UrlRuleKind])
    text = models.TextField(help_text="URL, regular expression of RE2, or host")
    selector = models.TextField(
        blank=True, default="", help_text="CSS selector of what is compared; empty: the whole text"
    )
    events = ArrayField(models.CharField(max_length=10, choices=PageEvent))
    ignore = ArrayField(
        models.TextField(), default=list, help_text="RE2 expressions; what they match is no change"
    )
    ignore_numbers = models.BooleanField(default=False)
    picture_percent = models.FloatField(
        null=True,
        help_text="the share of pixels, in per cent, that must differ in a screenshot for a page "
        "to count as changed; empty: texts are compared",
    )
    ignored_regions = models.JSONField(
        default=list,
        help_text="left, top, width and height, in pixels, of parts of a screenshot that are not "
        "compared",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    compared_until = models.DateTimeField(
        default=timezone.now, help_text="runs that ended until then are compared"
    )
    feed_number = models.PositiveIntegerField(
        default=1, help_text="a part of its feed's secret address; another ends the old one"
    )
    note = models.TextField(
        blank=True, default="", help_text="what the latest comparison does not cover, a sentence"
    )

    removal_asked_at = models.DateTimeField(
        null=True, help_text="when it was deleted; it can be restored for a day"
    )

    objects: models.Manager[Watch] = NotDeletedManager()
    all_objects: models.Manager[Watch] = models.Manager()

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "watches"
        base_manager_name = "all_objects"

    def __str__(self) -> str:
        return f"watch {self.pk}: {self.kind} {self.text}"

    @property
    def is_by_picture(self) -> bool:
        return self.picture_percent is not None

    @property
    def region_lines(self) -> list[str]:
        """The ignored regions as they are typed."""
        return [" ".join(map(str, region)) for region in self.ignored_regions]

    @property
    def rule(self) -> UrlRule:
        return UrlRule(UrlRuleKind(self.kind), self.text)


class WatchEvent(models.Model):
    """A page that is new, gone or changed in a run, compared with the latest earlier run that has
    it.
    """

    watch = models.ForeignKey(Watch, models.CASCADE, related_name="found", db_index=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="watch_events")
    kind = models.CharField(max_length=10, choices=PageEvent)
    url = models.TextField()
    fingerprint = models.BigIntegerField(help_text="of the URL")
    page = models.BigIntegerField(null=True, help_text="id of its URL in the run")
    earlier = models.BigIntegerField(null=True, help_text="id of its URL in the earlier run")
    diff = models.JSONField(default=list, help_text="pairs of a kind of line and its text")
    note = models.TextField(blank=True, default="", help_text="a sentence, where there is no diff")
    picture_share = models.FloatField(
        null=True, help_text="the share of the pixels that differ; empty: texts were compared"
    )
    found_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [models.Index(fields=["found_at"], name="watch_events_by_time")]
        constraints = [
            models.UniqueConstraint(
                fields=["watch", "run", "fingerprint"], name="one_event_a_watch_run_and_page"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.url}"

    @property
    def diff_lines(self) -> list[dict[str, str]]:
        return [{"kind": kind, "text": text} for kind, text in self.diff]

    @property
    def diff_text(self) -> str:
        """The difference in the form of `diff -u`."""
        marks = {"removed": "- ", "added": "+ ", "skipped": "… "}
        return "\n".join(marks.get(kind, "  ") + text for kind, text in self.diff)
