"""Everything known about an address: its spelling, its host's name, its fetches, and the facts from
each crawl.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from crawling.dashboard.base.known_addresses import known_address
from crawling.dashboard.inspect.url_decision import UrlDecision, decisions_about
from crawling.models import CrawlJob, Url
from crawling.web.addresses import dns_name, fingerprints
from dnscache.models import DnsEntry

#: run by run, so that PostgreSQL descends once for each run into the index of its fingerprints
FIND = """
SELECT u.id FROM crawling_run r CROSS JOIN LATERAL (
    SELECT id, url FROM crawling_url WHERE run_id = r.id AND fingerprint = ANY(%s)
) u
WHERE u.url = %s AND r.id < %s AND (%s::bigint IS NULL OR r.crawl_id = %s)
    AND r.removal_asked_at IS NULL ORDER BY r.id DESC LIMIT %s
"""
LARGEST = 2**63 - 1
#: the most runs whose fetches are shown
MOST_RUNS = 20


def history_of(
    text: str, *, crawl: CrawlJob | None = None, before: int | None = None, limit: int
) -> tuple[str, list[Url], int | None]:
    """The URL in its canonical form, its row in each run that has met it, the latest first, and the
    id of the run before which to continue.

    crawl: read only its runs. Raises BadUrl.
    """
    url = known_address(text).url
    with connection.cursor() as cursor:
        of = crawl.pk if crawl else None
        cursor.execute(
            FIND, [fingerprints(url), url, LARGEST if before is None else before, of, of, limit + 1]
        )
        ids = [row[0] for row in cursor.fetchall()]
    rows = (
        Url.objects.select_related("run__crawl", "page")
        .filter(pk__in=ids[:limit])
        .order_by("-run_id")
    )
    found = list(rows)
    return url, found, found[-1].run_id if len(ids) > limit else None


def referrers_of(rows: Sequence[Url]) -> dict[int, str]:
    """The URL on whose page, or by whose redirect, the URL of a row was found, by row id. Seeds
    have none.
    """
    urls = dict(
        Url.objects.filter(pk__in=[row.via for row in rows if row.via is not None]).values_list(
            "pk", "url"
        )
    )
    return {row.pk: urls[row.via] for row in rows if row.via in urls}


@dataclass(frozen=True, slots=True)
class UrlOccurrence:
    """The result of the address in one run, and the page on which it was found."""

    row: Url
    #: the page's URL; empty for a seed
    referrer: str


@dataclass(frozen=True, slots=True)
class Inspection:
    url: str
    #: the name to resolve; empty if DNS is not needed
    name: str
    #: the last answer of DNS
    entry: DnsEntry | None
    answers: Sequence[UrlDecision]
    history: Sequence[UrlOccurrence]
    more_runs: bool

    @property
    def is_pending(self) -> bool:
        """Whether a background job will soon complete these facts."""
        return any(answer.is_pending for answer in self.answers)


def inspect(text: str, *, crawl: CrawlJob | None = None) -> Inspection:
    """The facts about an address, which may be in any spelling. crawl: restricts them to this
    crawl. Raises BadUrl.
    """
    address = known_address(text)
    name = dns_name(address.host_key)
    _, rows, older = history_of(text, crawl=crawl, limit=MOST_RUNS)
    referrers = referrers_of(rows)
    return Inspection(
        url=address.url,
        name=name,
        entry=DnsEntry.objects.filter(name=name).first() if name else None,
        answers=decisions_about(text, crawl=crawl)[1],
        history=[UrlOccurrence(row, referrers.get(row.pk, "")) for row in rows],
        more_runs=older is not None,
    )
