"""The answers of DNS, one row a name. Only `store.py` and `services.py` write here."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from dnscache.protocol import answers
from dnscache.protocol.addresses import AddressClass
from dnscache.protocol.question import MOST_ADDRESSES
from dnscache.records import DnsDropped, DnsMinute, DnsPin, DnsServer, DnsServerMinute

__all__ = [
    "DnsDropped",
    "DnsEntry",
    "DnsFlush",
    "DnsMinute",
    "DnsPin",
    "DnsPreResolver",
    "DnsServer",
    "DnsServerMinute",
]


class DnsEntry(models.Model):
    """The last answer for a name, unchecked: the fetcher decides at each connection whether its
    address is allowed.
    """

    class Status(models.TextChoices):
        """The statuses of `answers.DnsStatus` that come from DNS."""

        OK = answers.DnsStatus.OK.value, "has addresses"
        NXDOMAIN = answers.DnsStatus.NXDOMAIN.value, "no such name"
        NODATA = answers.DnsStatus.NODATA.value, "no address"
        SERVFAIL = answers.DnsStatus.SERVFAIL.value, "name server failed"
        TIMEOUT = answers.DnsStatus.TIMEOUT.value, "no answer in time"

    name = models.CharField(primary_key=True, max_length=253, db_collation="C")
    status = models.CharField(max_length=12, choices=Status.choices)
    addresses = ArrayField(
        models.GenericIPAddressField(), help_text="IPv4 first; in the server's order"
    )
    address_classes = ArrayField(
        models.CharField(
            max_length=12, choices=[(kind.value, kind.value) for kind in AddressClass]
        ),
        help_text="the kind of network of each address",
    )
    canonical = models.CharField(
        max_length=253, blank=True, help_text="the name at the end of the aliases"
    )
    rcode = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="DNS response code; empty if none came"
    )
    ttl = models.PositiveIntegerField(help_text="seconds, the least of the chain; 0 for a failure")
    resolve_ms = models.PositiveIntegerField(help_text="milliseconds the look-up took")
    resolved_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    retry_at = models.DateTimeField(
        null=True, blank=True, help_text="after a failure: not asked again before"
    )
    fails = models.PositiveSmallIntegerField(default=0, help_text="look-ups in a row that failed")
    registrable = models.CharField(
        max_length=253,
        db_collation="C",
        blank=True,
        help_text="registered domain (public suffix list)",
    )
    region = models.PositiveSmallIntegerField(
        default=2, choices=[(1, "forward"), (2, "reverse")], help_text="quick, or slow or failing"
    )
    cost_seconds = models.FloatField(
        default=0, help_text="seconds a look-up usually takes, or burns"
    )
    hits = models.FloatField(
        default=1, help_text="uses in the memory that wrote the row, halved every ten minutes"
    )
    last_access = models.DateTimeField(null=True, blank=True, help_text="last use there")
    weight = models.FloatField(
        default=0, help_text="fetch threads saved by keeping the answer, when it was written"
    )
    upstream = models.CharField(
        max_length=64, blank=True, help_text="the name server that answered"
    )
    error = models.TextField(blank=True)

    class Meta:
        verbose_name = "DNS entry"
        verbose_name_plural = "DNS entries"
        ordering = ["name"]
        # No index has `last_access` or `hits`, since an update that touches no index is cheap.
        indexes = [
            models.Index(F("weight").desc(), name="dns_heaviest_first"),
            models.Index("registrable", name="dns_by_registrable"),
            models.Index("name", condition=~Q(status="ok"), name="dns_without_address"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status="ok", addresses__len__range=(1, 2 * MOST_ADDRESSES))
                | (~Q(status="ok") & Q(addresses__len=0)),
                name="dns_addresses_exactly_when_ok",
            ),
            models.CheckConstraint(
                condition=Q(address_classes__len=F("addresses__len")),
                name="dns_every_address_has_a_class",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=["ok", "servfail", "timeout"],
                    retry_at__gt=F("resolved_at"),
                    fails__gt=0,
                )
                | Q(status__in=["ok", "nxdomain", "nodata"], retry_at=None, fails=0),
                name="dns_retry_exactly_after_a_failure",
            ),
            models.CheckConstraint(
                condition=Q(expires_at__gte=F("resolved_at"), ttl__lte=answers.LONGEST_TTL_SECONDS),
                name="dns_life_is_within_bounds",
            ),
            models.CheckConstraint(
                condition=Q(region=2) | Q(region=1, status="ok", fails=0),
                name="dns_trouble_is_in_the_reverse_region",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class FlushQuerySet(models.QuerySet["DnsFlush"]):
    """Queries of flushes by age, by PostgreSQL's clock."""

    def since(self, *, seconds: float) -> list[DnsFlush]:
        """Return the flushes of the last `seconds`, the oldest first."""
        return list(self.filter(at__gt=Now() - timedelta(seconds=seconds)).order_by("pk"))


class DnsFlush(models.Model):
    """An order to forget names, kept until every process has seen it."""

    class Scope(models.TextChoices):
        """The names to forget; `value` says which name or domain."""

        NAME = "name", "one name"
        DOMAIN = "domain", "a registered name with all below it"
        REVERSE = "reverse", "the whole negative region"
        ALL = "all", "everything"

    at = models.DateTimeField(db_default=Now(), db_index=True)
    scope = models.CharField(max_length=8, choices=Scope.choices)
    value = models.CharField(max_length=253, blank=True)

    objects = FlushQuerySet.as_manager()

    class Meta:
        verbose_name = "DNS flush"
        verbose_name_plural = "DNS flushes"

    def __str__(self) -> str:
        return f"{self.get_scope_display()} {self.value}".strip()


class DnsPreResolver(models.Model):
    """A process that resolves names ahead, as of its last heartbeat. A machine has one.

    Only `dnscache.preresolver.preresolver` writes here.
    """

    machine = models.CharField(primary_key=True, max_length=253)
    beat_at = models.DateTimeField()
    slots = models.PositiveIntegerField(help_text="look-ups that may be in flight")
    main_threads = models.PositiveIntegerField()
    main_depth = models.PositiveIntegerField(
        help_text="names in the main lane, those being asked for included"
    )
    slow_threads = models.PositiveIntegerField()
    slow_depth = models.PositiveIntegerField()
    names = models.PositiveIntegerField(help_text="answers in its memory")
    threads_saved = models.FloatField(help_text="the sum of their weights")
    counts = models.JSONField(help_text="results of names since it started")

    class Meta:
        verbose_name = "DNS pre-resolver"

    def __str__(self) -> str:
        return self.machine
