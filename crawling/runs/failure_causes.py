"""The reasons why URLs of a run failed or were excluded. The numbers come from stored counts, so no
URL is counted here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import starmap
from typing import NamedTuple

from django.db import connection

from crawling.frontier.sql_rows import SentRows
from crawling.models import Run, RunStatusCount, UrlState
from crawling.web.statuses import FetchStatus, status_sentence

SAMPLES = 3
#: the states whose URLs have a cause
NOT_FETCHED = (UrlState.FAILED, UrlState.EXCLUDED)


class AskedCause(NamedTuple):
    state: str
    status: int


CAUSES = SentRows("cause", AskedCause)
SAMPLE_URLS = f"""
SELECT cause.state, cause.status, u.id, u.url, u.error
FROM {CAUSES}
CROSS JOIN LATERAL (
    SELECT id, url, error FROM crawling_url
    WHERE run_id = %(run)s AND status = cause.status AND state = cause.state
        AND state IN ('{UrlState.FAILED}', '{UrlState.EXCLUDED}')
    ORDER BY id LIMIT %(most)s
) u
"""  # noqa: S608 - the states are constants


class UrlSample(NamedTuple):
    id: int
    url: str
    error: str


@dataclass(frozen=True)
class FailureCause:
    """URLs that ended with one state and status."""

    state: str
    status: int
    urls: int
    #: the first of these URLs
    samples: list[UrlSample] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        return status_sentence(self.status)

    @property
    def may_retry(self) -> bool:
        return self.state == UrlState.FAILED

    @property
    def is_closed_address(self) -> bool:
        """Whether an administrator can remove the cause by an access rule for the address."""
        return self.status == FetchStatus.ADDRESS_REFUSED

    @property
    def reason(self) -> str:
        """The reason stored with the first sample, which may say more than the status."""
        return (self.samples[0].error if self.samples else "") or self.sentence

    @property
    def example(self) -> str:
        return self.samples[0].url if self.samples else ""


def causes_without_samples(run: Run, *, most: int | None = None) -> list[FailureCause]:
    """The `most` commonest causes, or all. Failures precede exclusions."""
    counts = RunStatusCount.objects.filter(run=run, state__in=NOT_FETCHED, urls__gt=0)
    rows = counts.order_by("state", "-urls", "status")[:most]
    return [FailureCause(row.state, row.status, row.urls) for row in rows]


def failure_causes(
    run: Run, *, most: int, counts: Iterable[tuple[str, int, int]] | None = None
) -> list[FailureCause]:
    """The commonest causes with samples of their URLs. Failures precede exclusions.

    counts: state, status and number of the run's URLs, if the caller has read them already.
    """
    if counts is None:
        found = causes_without_samples(run, most=most)
    else:
        not_fetched = [FailureCause(*count) for count in counts if count[0] in NOT_FETCHED]
        found = sorted(not_fetched, key=lambda one: (one.state, -one.urls, one.status))[:most]
    causes = {(cause.state, cause.status): cause for cause in found}
    if causes:
        wanted = starmap(AskedCause, causes)
        with connection.cursor() as cursor:
            cursor.execute(SAMPLE_URLS, CAUSES.values(wanted, run=run.pk, most=SAMPLES))
            for state, status, *sample in cursor.fetchall():
                causes[state, status].samples.append(UrlSample(*sample))
    return list(causes.values())
