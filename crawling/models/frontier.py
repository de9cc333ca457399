"""The URLs that wait to be fetched, by host. Written by `crawling.frontier` only."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import TransactionNow
from django.db import models
from django.db.models import Q

from crawling.models.jobs import Run
from crawling.models.shifts import Shift


class Host(models.Model):
    """A host with its politeness clock, which all crawls share: no fetch begins before `due_at`,
    and after it only the leasing shift fetches.

    name: as `Address.host_key` spells it. While `shift` is set, the host is leased. After an
    expired lease the host rests until `lease_until` + `delay_seconds`, since the last fetch may
    have been at the very end of the lease.
    """

    name = models.CharField(max_length=260, unique=True, db_collation="C")
    dns_name = models.CharField(
        max_length=253,
        blank=True,
        db_default="",
        db_collation="C",
        help_text="name for DNS; empty: no look-up is needed",
    )
    due_at = models.DateTimeField(db_default=TransactionNow())
    delay_seconds = models.FloatField(
        db_default=0, help_text="the delay that the last work session kept"
    )
    backoffs = models.IntegerField(
        db_default=0, help_text="answers in a row by which it said that it has too much to do"
    )
    rest_reason = models.CharField(
        max_length=300,
        blank=True,
        db_default="",
        help_text="the answer that made the last work session leave it alone; empty: none did",
    )
    counted_at = models.DateTimeField(
        null=True, help_text="when the latest request to it was counted"
    )
    requests_in_minute = models.IntegerField(db_default=0, help_text="of counted_at, by UTC")
    requests_in_day = models.IntegerField(db_default=0, help_text="of counted_at, by UTC")
    answered_at = models.DateTimeField(
        null=True, help_text="when a work session that had an answer let it go; null: it never did"
    )
    shift = models.ForeignKey(Shift, models.SET_NULL, null=True, related_name="hosts")
    lease_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(shift=None) | Q(lease_until__isnull=False),
                name="a_leased_host_has_a_lease_end",
            )
        ]

    def __str__(self) -> str:
        return self.name


class AddressClock(models.Model):
    """The time at which the next request to an address may begin, for all hosts at that address."""

    address = models.GenericIPAddressField(primary_key=True)
    due_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.address


class RobotsFile(models.Model):
    """An origin's robots.txt as last fetched. A `status` of 0 or less means that there was no
    answer.
    """

    origin = models.CharField(max_length=270, primary_key=True, db_collation="C")
    status = models.SmallIntegerField()
    body = models.BinaryField()
    fetched_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["origin"],
                condition=Q(status__lt=0) | Q(status__gte=500),
                name="robots_unavailable",
            )
        ]

    def __str__(self) -> str:
        return self.origin


class OwnRobotsFile(models.Model):
    """An origin's robots.txt as one run got it by its own requests: with its headers, cookies or
    credentials, or through its proxy.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="robots_files", db_index=False)
    revision = models.IntegerField(help_text="of the crawl's order for which it was had")
    origin = models.CharField(max_length=270, db_collation="C")
    status = models.SmallIntegerField()
    body = models.BinaryField()
    fetched_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "origin"], name="one_robots_file_an_origin")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.origin}"


class HostQueue(models.Model):
    """A run's URLs on one host.

    `queued` is the number of waiting URLs. Before `due_at` none of them may be tried.

    The due time is also the queue's place in line, and is set again after each turn of the queue.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="queues", db_index=False)
    host = models.ForeignKey(Host, models.PROTECT, related_name="queues")
    process_number = models.PositiveSmallIntegerField(
        help_text="the process of the run that serves this host"
    )
    queued = models.IntegerField(db_default=0)
    done = models.IntegerField(
        db_default=0, help_text="URLs that succeeded, failed or were excluded"
    )
    due_at = models.DateTimeField(db_default=TransactionNow())
    retry_at = models.DateTimeField(
        null=True,
        help_text="not before, while its host lets nothing be fetched; `due_at` is never earlier",
    )
    outage = models.JSONField(
        null=True, help_text="`crawling.web.outages.Outage`, while its host lets nothing be fetched"
    )
    origin_outages = models.JSONField(
        null=True,
        help_text="outages by origin: its robots.txt cannot be had, though another of the host can",
    )
    pages = models.IntegerField(db_default=0, help_text="answers had of it")
    bytes = models.BigIntegerField(db_default=0, help_text="of their documents")
    began_at = models.DateTimeField(null=True, help_text="when the first of them was recorded")
    domain = models.CharField(
        max_length=253,
        blank=True,
        db_default="",
        db_collation="C",
        help_text="the host's registrable domain; empty: it has none",
    )
    certificate_ends_at = models.DateTimeField(
        null=True, help_text="of those met at the last visit the first to end; empty: none was met"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "host"], name="one_queue_a_host_and_run"),
            models.CheckConstraint(condition=Q(queued__gte=0), name="queued_is_never_negative"),
        ]
        indexes = [
            models.Index(
                fields=["run", "process_number", "due_at", "id"],
                condition=Q(queued__gt=0),
                name="queues_in_turn",
            ),
            models.Index(fields=["run", "-queued", "-done", "id"], name="queues_by_work"),
            models.Index(fields=["run", "domain"], name="queues_by_domain"),
            models.Index(
                fields=["run", "certificate_ends_at"],
                condition=Q(certificate_ends_at__isnull=False),
                name="queues_by_certificate",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.host_id}"


class CookieJar(models.Model):
    """A host's cookies in a run, its challenges, and whether the run has logged in. The data are
    sealed, since a session cookie is as sensitive as the login.
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="cookie_jars", db_index=False)
    host = models.ForeignKey(Host, models.CASCADE, related_name="cookie_jars")
    sealed = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "host"], name="one_jar_a_host_and_run")
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.host_id}"


class UrlState(models.TextChoices):
    """The states of a URL. The number of discovered URLs is the sum over all six (DESIGN's counts).

    A URL in quarantine waits for an operator's decision, not for a fetch thread.
    """

    QUEUED = "q", "queued"
    IN_PROCESS = "p", "in process"
    SUCCEEDED = "s", "succeeded"
    FAILED = "f", "failed"
    EXCLUDED = "x", "excluded"
    QUARANTINED = "t", "quarantined"


class Url(models.Model):
    """One URL of one run, with its outcome.

    The fingerprint is unique within the run (SEEDS W11).
    """

    run = models.ForeignKey(Run, models.CASCADE, related_name="urls", db_index=False)
    # The database does not enforce these two references: to delete a queue or a shift, it would
    # read all URLs of all runs.
    queue = models.ForeignKey(
        HostQueue, models.CASCADE, related_name="urls", db_index=False, db_constraint=False
    )
    fingerprint = models.BigIntegerField()
    url = models.TextField()
    depth = models.SmallIntegerField()
    rank = models.FloatField(help_text="lowest first; among equals, first found first")
    lane = models.SmallIntegerField(
        db_default=0,
        help_text="an operator's word before any rank: -1 is fetched first of its host, 1 last",
    )
    via = models.BigIntegerField(null=True, help_text="id of the URL on whose page it was found")
    backlinks = models.IntegerField(
        null=True,
        help_text="links to it from pages that were read, its hit count (SEEDS B6); a work session "
        "adds them up every half minute, so one that is killed loses the last",
    )
    credit = models.FloatField(
        null=True, help_text="what it held when it was fetched; OPIC's measure of its importance"
    )
    pattern = models.BigIntegerField(
        null=True,
        help_text="key of the pattern it shares with URLs that differ by numbers and ids only",
    )
    redirects = models.SmallIntegerField(
        db_default=0, help_text="redirects in a row that led here when it was found"
    )
    hops = models.SmallIntegerField(
        db_default=0, help_text="links in a row outside the scope, the one that led here included"
    )
    nesting = models.SmallIntegerField(
        db_default=0,
        help_text="sitemap indexes in a row that led here when it was found",
    )
    modified_at = models.DateTimeField(
        null=True, help_text="when it was changed last, as a sitemap states"
    )
    state = models.CharField(max_length=1, choices=UrlState.choices, default=UrlState.QUEUED)
    shift = models.ForeignKey(
        Shift, models.SET_NULL, null=True, db_index=False, db_constraint=False, related_name="urls"
    )
    attempts = models.SmallIntegerField(db_default=0)
    losses = models.SmallIntegerField(
        db_default=0,
        help_text="work sessions that were lost while they had it; with any it is a suspect",
    )
    due_at = models.DateTimeField(
        null=True, help_text="earliest time of the retry after a temporary failure"
    )
    status = models.SmallIntegerField(
        null=True, help_text="of the last try: HTTP's, or a negative FetchStatus"
    )
    error = models.TextField(blank=True, db_default="")

    class Meta:
        verbose_name = "URL"
        constraints = [
            models.UniqueConstraint(fields=["run", "fingerprint"], name="a_url_is_seen_once_a_run")
        ]
        indexes = [
            models.Index(
                fields=["queue", "lane", "rank", "id"], condition=Q(state="q"), name="urls_waiting"
            ),
            models.Index(fields=["shift"], condition=Q(state="p"), name="urls_in_process"),
            models.Index(fields=["run", "queue"], condition=Q(depth=0), name="seeds_of_a_run"),
            models.Index(
                fields=["run", "pattern"],
                condition=Q(state="q", pattern__isnull=False),
                name="urls_waiting_by_pattern",
            ),
            models.Index(
                fields=["run", "pattern", "id"], condition=Q(state="t"), name="urls_quarantined"
            ),
            models.Index(
                fields=["run", "state", "status", "id"],
                condition=Q(state__in=["f", "x"]),
                name="urls_that_ended_badly",
            ),
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def expected_similarity(self) -> float:
        """The similarity to the topic of a focused crawl, 0 to 1. It has no meaning in other orders
        of visits.
        """
        return min(1.0, max(0.0, -self.rank))


class PageTargets(models.Model):
    """The targets of a page of a run with a limited depth, as fingerprints. If a shorter path to
    the page is found, its targets come nearer, too.
    """

    url = models.OneToOneField(
        Url, models.CASCADE, primary_key=True, related_name="targets", db_constraint=False
    )
    run = models.ForeignKey(Run, models.CASCADE, related_name="page_targets", db_index=False)
    links = ArrayField(models.BigIntegerField())
    redirect = models.BigIntegerField(null=True, help_text="which is as deep as the page itself")
    is_behind = models.BooleanField(
        db_default=False, help_text="the page is nearer by now than its targets were told"
    )

    class Meta:
        indexes = [models.Index(fields=["run"], condition=Q(is_behind=True), name="targets_behind")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.url_id}"


class LambdaRow(models.Model):
    """The Lambda page (`crawling.orders.ranking.LambdaPage`) of a run with the order of visits
    OPIC, between two batches.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="lambda_page")
    credit = models.FloatField(default=0)
    level = models.FloatField(default=0)

    def __str__(self) -> str:
        return f"{self.run_id} {self.credit:g}"


class Reranking(models.Model):
    """A run whose waiting URLs are being ranked again, because its weights were edited. The row is
    deleted when all are ranked.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="reranking")
    fingerprint = models.BigIntegerField(help_text="those of lower ones are ranked anew already")

    def __str__(self) -> str:
        return f"{self.run_id} from {self.fingerprint}"
