"""The history of a crawl's pages in its stored runs: the time of each request, and the content."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, pairwise
from math import inf, nan
from sys import intern
from typing import NamedTuple

import numpy as np
from django.db import connection
from django.db.models import QuerySet

from crawling.frontier import is_complete
from crawling.models import CrawlJob, Run
from crawling.models.jobs import ENDED_STATES
from crawling.uses.revisits.change_rate import Visits

#: the number of a crawl's latest runs that are read
MOST_RUNS = 1000
#: the number of latest runs among which a complete one is sought
LATEST = 10
#: the number of a page's latest visits that are read; with more of them, a change of the rate would
#: show later
MOST_VISITS = 50
ROWS_AT_A_TIME = 5_000

#: Moments are in days since 1970. A page that was taken over from an earlier run without a visit
#: shows only that the page exists, and counts only in the latest runs. Sitemaps and feeds are not
#: planned, since they announce what is new.
ANSWERS = """
SELECT u.fingerprint, u.url, h.name, r.number,
    p.reused_from IS NULL,
    p.digest IS NOT NULL AND (p.status = 200 OR p.unchanged_since IS NOT NULL)
        AND u.url NOT LIKE '%%.xml.gz' AND NOT (p.content_type ILIKE '%%xml%%'
            AND p.content_type NOT ILIKE '%%xhtml%%' AND p.content_type NOT ILIKE '%%svg%%'),
    extract(epoch FROM p.fetched_at)::float8 / 86400, p.digest,
    extract(epoch FROM p.last_modified)::float8 / 86400,
    extract(epoch FROM p.expires_at)::float8 / 86400,
    extract(epoch FROM u.modified_at)::float8 / 86400
FROM crawling_run r JOIN crawling_page p ON p.run_id = r.id JOIN crawling_url u ON u.id = p.url_id
JOIN crawling_hostqueue q ON q.id = u.queue_id JOIN crawling_host h ON h.id = q.host_id
WHERE r.id = ANY(%(runs)s) AND (p.reused_from IS NULL OR r.number >= %(since)s)
ORDER BY u.fingerprint, u.url, r.number
"""


class RunAnswer(NamedTuple):
    fingerprint: int
    url: str
    host: str
    run: int
    #: whether this run sent a request to the server
    is_visit: bool
    is_document: bool
    at: float
    digest: bytes
    last_modified: float | None
    expires: float | None
    #: the time of the last change, as a sitemap of the run states it
    modified: float | None


def _float_array() -> array[float]:
    return array("d")


def _count_array() -> array[int]:
    return array("q")


@dataclass
class VisitHistory:
    """Pages in the order of their fingerprints, as arrays with an element for each; moments are in
    days since 1970.
    """

    #: the end of the last run that was read
    ended_at: datetime | None = None
    fingerprints: array[int] = field(default_factory=_count_array)
    urls: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    #: the time of the latest visit
    visited: array[float] = field(default_factory=_float_array)
    #: the time until which the latest answer is fresh, by its headers; NaN if unknown
    expires: array[float] = field(default_factory=_float_array)
    #: whether the page was changed after its latest visit, as a sitemap states
    is_outdated: list[bool] = field(default_factory=list)
    #: the time of the earliest visit that requested a known page again
    began: float = inf
    at: array[float] = field(default_factory=_float_array)
    #: the columns of `Visits`
    page: array[int] = field(default_factory=_count_array)
    days: array[float] = field(default_factory=_float_array)
    changed: array[int] = field(default_factory=lambda: array("b"))
    age: array[float] = field(default_factory=_float_array)

    def add(self, visits: Sequence[RunAnswer], modified: float | None) -> None:
        """Add a page with its visits (at least one, the latest last), and the time of its last
        change as a sitemap states it.
        """
        latest, page = visits[-1], len(self.urls)
        self.fingerprints.append(latest.fingerprint)
        self.urls.append(latest.url)
        self.hosts.append(intern(latest.host))
        self.visited.append(latest.at)
        self.expires.append(nan if latest.expires is None else latest.expires)
        self.is_outdated.append(modified is not None and modified > latest.at)
        self.began = min(self.began, visits[0].at)
        self.at.extend(visit.at for visit in visits[1:])
        for before, visit in pairwise(visits[-MOST_VISITS:]):
            if visit.at > before.at:
                self.page.append(page)
                self.days.append(visit.at - before.at)
                self.changed.append(visit.digest != before.digest)
                modified = visit.last_modified
                self.age.append(nan if modified is None else visit.at - modified)

    @property
    def visits(self) -> Visits:
        """The visits that compared a page with an earlier one."""
        return Visits(
            np.array(self.page, np.int64),
            np.array(self.days, np.float64),
            np.array(self.changed, np.bool_),
            np.array(self.age, np.float64),
        )


def ended_runs(crawl: CrawlJob | int) -> QuerySet[Run]:
    """The runs of a crawl that have ended, the latest first."""
    return Run.objects.filter(crawl=crawl, state__in=ENDED_STATES).order_by("-number")


def read_history(crawl: CrawlJob) -> VisitHistory:
    """The crawl's pages whose latest answer is a document.

    A page is left out if a later complete run did not find it. It stays if a limit excluded it from
    that run.
    """
    runs = list(ended_runs(crawl)[:MOST_RUNS])
    since = next((run.number for run in runs[:LATEST] if is_complete(run)), 0)
    ended_at = max((run.finished_at for run in runs if run.finished_at), default=None)
    history, taken = VisitHistory(ended_at), None
    for answers in _answers_by_page(runs, since):
        latest = answers[-1]
        visits = [one for one in answers if one.is_visit and one.is_document]
        is_there = latest.is_document and latest.run >= since
        if visits and is_there and latest.fingerprint != taken:
            history.add(visits, latest.modified)
            taken = latest.fingerprint
    return history


def _answers_by_page(runs: Sequence[Run], since: int) -> Iterator[list[RunAnswer]]:
    with connection.chunked_cursor() as cursor:
        cursor.cursor.itersize = ROWS_AT_A_TIME
        cursor.execute(ANSWERS, {"runs": [run.pk for run in runs], "since": since})
        rows = (RunAnswer(*row) for row in cursor)
        for _, answers in groupby(rows, key=lambda row: (row.fingerprint, row.url)):
            yield list(answers)
