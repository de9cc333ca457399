"""The cache's history for pages, and names that operators pinned.

`dnscache.lookup_counter` and `services` write these rows.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

#: the upper bounds, in seconds, of the classes in which waits are counted; the last class has none
WAITS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: look-ups a second: the usual limit of a name server, and the highest allowed limit
DEFAULT_PER_SECOND, MOST_PER_SECOND = 200, 100_000


#: columns of `DnsMinute` that are summed up
SUMS = (
    "memory",
    "database",
    "lookup",
    "stale",
    "waited_seconds",
    "asked",
    "answered",
    "failed",
    "cut",
)


class DnsMinute(models.Model):
    """How names were resolved in one minute, by all processes.

    Only `dnscache.lookup_counter` writes here.
    """

    minute = models.DateTimeField(primary_key=True)
    memory = models.PositiveIntegerField(help_text="answers from a process's memory")
    database = models.PositiveIntegerField(
        help_text="answers from PostgreSQL: those pre-resolved, among others"
    )
    lookup = models.PositiveIntegerField(help_text="answers that a process had to wait for")
    stale = models.PositiveIntegerField(
        help_text="of all three, those past their life, and flagged so"
    )
    waited_seconds = models.FloatField(help_text="what hosts waited for their names")
    waits = ArrayField(
        models.PositiveIntegerField(),
        size=len(WAITS) + 1,
        help_text="how many waited how long, by the classes of WAITS",
    )
    asked = models.PositiveIntegerField(help_text="look-ups begun")
    answered = models.PositiveIntegerField(
        db_default=0, help_text="look-ups that a name server answered, even with no such name"
    )
    failed = models.PositiveIntegerField(help_text="look-ups without an answer")
    cut = models.PositiveIntegerField(help_text="look-ups that went on in the slow lane")

    class Meta:
        verbose_name = "DNS minute"

    def __str__(self) -> str:
        return f"{self.minute:%Y-%m-%d %H:%M}"


class DnsServer(models.Model):
    """A name server that was asked, with its limit, which is a token bucket for all processes.

    Only `dnscache.name_servers` and `services` write here.
    """

    server = models.CharField(primary_key=True, max_length=64)
    per_second = models.PositiveIntegerField(
        db_default=DEFAULT_PER_SECOND, help_text="look-ups a second, by all processes together"
    )
    tokens = models.FloatField(
        db_default=DEFAULT_PER_SECOND,
        help_text="look-ups that may begin at once; below 0: asked too much",
    )
    taken_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "name server"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(per_second__range=(1, MOST_PER_SECOND)),
                name="dns_server_may_be_asked",
            )
        ]

    def __str__(self) -> str:
        return self.server


class DnsServerMinute(models.Model):
    """The questions to a name server in one minute, by all processes.

    Only `dnscache.name_servers` writes here.
    """

    pk = models.CompositePrimaryKey("minute", "server")
    minute = models.DateTimeField()
    server = models.CharField(max_length=64)
    asked = models.PositiveIntegerField(help_text="look-ups and further tries")
    answered = models.PositiveIntegerField(help_text="of these, answered")
    failed = models.PositiveIntegerField(help_text="answered with an error, or did not answer")
    silent = models.PositiveIntegerField(help_text="not answered within the time of a try")
    over_tcp = models.PositiveIntegerField(help_text="questions repeated over TCP")
    milliseconds = models.PositiveBigIntegerField(help_text="all answers took together")
    longest_ms = models.PositiveIntegerField(help_text="the longest answer")

    class Meta:
        verbose_name = "name server minute"

    def __str__(self) -> str:
        return f"{self.server} {self.minute:%Y-%m-%d %H:%M}"


class DnsDropped(models.Model):
    """An answer that was removed from a pre-resolver's memory before it expired.

    Only `dnscache.lookup_counter` writes here.
    """

    at = models.DateTimeField(db_default=Now())
    name = models.CharField(max_length=253)
    region = models.PositiveSmallIntegerField()
    weight = models.FloatField(help_text="fetch threads that keeping it would have saved")
    why = models.CharField(max_length=40)

    class Meta:
        verbose_name = "DNS eviction"

    def __str__(self) -> str:
        return self.name


class DnsPin(models.Model):
    """A name that operators keep fresh, whether or not a crawl needs it.

    Only `dnscache.services` writes here.
    """

    name = models.CharField(primary_key=True, max_length=253)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "DNS pin"

    def __str__(self) -> str:
        return self.name
