"""A comparison of two runs of a crawl: the pages that were added, removed or changed, and those
whose status changed, in total, by host, and one by one.

Pages with the same URL are compared. A URL without an answer in a run counts as missing there.
Small runs are compared at once, large ones by a background job, whose answer is kept for an hour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.utils import timezone
from pydantic import TypeAdapter

from crawling.base.encrypted_text import SealBroken
from crawling.base.errors import CrawlError
from crawling.base.timed import time_limit
from crawling.models import BackgroundJob, Inquiry, InquiryKind, Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.previews.inquiries import ask_once, question_of
from serving.paging import cut_to_limit

#: the time limit: a comparison reads both runs completely, and one that takes longer is cancelled,
#: so that it does not keep the server busy
MOST_SECONDS = 60
#: the most pages of both runs together that are compared while a page is rendered: 3 us a page, on
#: one core
MOST_AT_ONCE = 20_000
#: the interval at which a run that is not over is compared anew
AGAIN_SECONDS = 300
HOSTS = 50
KINDS = ("added", "removed", "changed", "status_changed")

#: The content is compared by the digest of the rendered text if a browser has rendered both pages,
#: else by digest if both have one, and otherwise by fingerprint. The content of a redirect is its
#: target. Only the columns needed for this are read: with all columns,
#: two runs of 100,000 pages take four times as long. The condition on a URL's run is stated, too,
#: since the database would otherwise read the URLs of all runs. A 304 confirms an earlier page with
#: the status 200, whose digest is in its own row.
SIDE = """
    SELECT u.fingerprint AS key, u.url, u.queue_id, p.url_id, p.digest, p.fingerprint,
        p.rendition ->> 'text_digest' AS text_digest,
        nullif(p.final_url, u.url) AS target,
        CASE WHEN p.unchanged_since IS NULL THEN p.status ELSE 200 END AS status
    FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
"""
PAIRS = f"""
    SELECT old.url_id AS old_id, new.url_id AS new_id, coalesce(new.url, old.url) AS url,
        coalesce(new.queue_id, old.queue_id) AS queue_id,
        CASE WHEN old.url_id IS NULL THEN 'added' WHEN new.url_id IS NULL THEN 'removed'
            WHEN old.status <> new.status THEN 'status_changed'
            WHEN coalesce(old.text_digest <> new.text_digest, old.digest <> new.digest,
                old.fingerprint <> new.fingerprint) THEN 'changed'
            WHEN old.target IS DISTINCT FROM new.target THEN 'changed'
            ELSE 'unchanged' END AS kind
    FROM ({SIDE} WHERE p.run_id = %(old)s AND u.run_id = %(old)s) old
    FULL JOIN ({SIDE} WHERE p.run_id = %(new)s AND u.run_id = %(new)s) new ON old.key = new.key
        AND old.url = new.url
"""  # noqa: S608  # constants
SUMMARY = f"""
SELECT h.name, kind, sum(n)::bigint
FROM (SELECT queue_id, kind, count(*) AS n FROM ({PAIRS}) pairs GROUP BY 1, 2) counts
JOIN crawling_hostqueue q ON q.id = counts.queue_id JOIN crawling_host h ON h.id = q.host_id
GROUP BY 1, 2
"""  # noqa: S608  # constants
ROWS = f"""
SELECT kind, found.url, old_id, new_id, old.status, new.status, old.title, new.title, old.bytes,
    new.bytes FROM (
    SELECT * FROM ({PAIRS}) pairs
    WHERE kind = ANY(%(kinds)s) AND (%(host)s = '' OR queue_id IN (
        SELECT q.id FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
        WHERE q.run_id IN (%(old)s, %(new)s) AND h.name = %(host)s))
        AND url > %(after)s
    ORDER BY url LIMIT %(limit)s
) found LEFT JOIN crawling_page old ON old.url_id = old_id LEFT
    JOIN crawling_page new ON new.url_id = new_id
ORDER BY found.url
"""  # noqa: S608  # constants


class ComparingTookTooLong(CrawlError):
    """The runs are so large that comparing them was broken off after 60 seconds; try again when the
    machine has less to do.
    """


@dataclass(frozen=True)
class ChangeTotals:
    """Numbers of pages in two runs, by change."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    status_changed: int = 0
    #: pages in both runs with the same status and content
    unchanged: int = 0

    @property
    def different(self) -> int:
        return self.added + self.removed + self.changed + self.status_changed


@dataclass(frozen=True)
class HostCounts:
    """Numbers of pages on one host, by change."""

    host: str
    counts: ChangeTotals


@dataclass(frozen=True)
class ComparisonSummary:
    """The totals of all pages, and the hosts with the most differences first."""

    counts: ChangeTotals
    hosts: Sequence[HostCounts]
    #: the number of hosts that are not in the list
    more_hosts: int


@dataclass(frozen=True)
class PageDifference:
    """A page that differs between the two runs."""

    kind: str
    url: str
    #: id of its URL in the old run; None if the page is missing there
    old_id: int | None
    #: id of its URL in the new run; None if the page is missing there
    new_id: int | None
    old_status: int | None
    new_status: int | None
    old_title: str | None
    new_title: str | None
    old_bytes: int | None
    new_bytes: int | None


@dataclass(frozen=True)
class ChangeFilter:
    """The differences that are requested, in the order of addresses: of a kind and a host ("" for
    all), after an address, and how many.
    """

    limit: int
    kind: str = ""
    host: str = ""
    after: str = ""


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs so far. A job later completes fields that are None."""

    summary: ComparisonSummary | None
    rows: Sequence[PageDifference] | None
    #: the address after which the next differences follow
    following: str | None = None
    #: the time of the comparison
    as_of: datetime | None = None
    #: the state of the job: waiting or working; empty if there is none
    job_state: str = ""
    #: a sentence; empty unless the job failed, or was cancelled
    why_failed: str = ""
    #: the inquiry on which a job works, or that was cancelled
    inquiry: Inquiry | None = None


Found = TypeVar("Found")
SUMMARY_OF_ANSWER = TypeAdapter(ComparisonSummary)
ROWS_OF_ANSWER = TypeAdapter(list[PageDifference])


def compare_runs(old: Run, new: Run, wanted: ChangeFilter, *, by: User | None) -> Comparison:
    """The summary and the requested differences; for large runs, as far as a job has found them.

    Raises ComparingTookTooLong for small runs, and InquiriesBusy.
    """
    if Page.objects.filter(run__in=[old, new])[: MOST_AT_ONCE + 1].count() > MOST_AT_ONCE:
        return _compared_by_a_job(old, new, wanted, by)
    rows, following = cut_to_limit(
        _differences(old.pk, new.pk, wanted), wanted.limit, _address_of_row
    )
    return Comparison(_summary(old.pk, new.pk), rows, following, timezone.now())


def answer_comparison(question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the job: the summary, or the differences that the question asks for."""
    old, new, wanted = question["old"], question["new"], question["wanted"]
    if wanted is None:
        return {"summary": asdict(_summary(old, new))}
    return {"rows": [asdict(row) for row in _differences(old, new, ChangeFilter(**wanted))]}


def _compared_by_a_job(old: Run, new: Run, wanted: ChangeFilter, by: User | None) -> Comparison:
    """The summary is requested separately, since all filters share it."""
    runs = {"old": old.pk, "new": new.pk, "moments": [comparison_stamp(old), comparison_stamp(new)]}
    counted, listed = (
        ask_once(InquiryKind.RUN_CHANGES, {**runs, "wanted": what}, by=by, run=new)
        for what in (None, asdict(wanted))
    )
    summary = _read_part(counted, "summary", SUMMARY_OF_ANSWER)
    found = _read_part(listed, "rows", ROWS_OF_ANSWER)
    rows, following = (
        (None, None) if found is None else cut_to_limit(found, wanted.limit, _address_of_row)
    )
    asked = (counted, listed)
    return Comparison(
        summary,
        rows,
        following,
        as_of=listed.ended_at,
        job_state=next((one.state for one in asked if one.is_open), ""),
        why_failed=counted.why_failed or listed.why_failed,
        inquiry=next((one for one in asked if one.cancelled_at or one.is_open), None),
    )


def asked_together(inquiry: BackgroundJob) -> set[int]:
    """The ids of the inquiries that a page makes together with this one: the summary of two runs
    and their differences. For any other kind, only its own id.
    """
    runs = _runs_asked_for(inquiry)
    others = Inquiry.objects.filter(kind=inquiry.kind, by=inquiry.by, result=None)
    together = {one.pk for one in others if _runs_asked_for(one) == runs} if runs else set()
    return {inquiry.pk} | together


def _runs_asked_for(inquiry: BackgroundJob) -> dict[str, Any] | None:
    """The question of a comparison without its filter: the two runs and their moments. None if the
    inquiry is no comparison, or cannot be read.
    """
    if inquiry.kind != InquiryKind.RUN_CHANGES:
        return None
    try:
        return question_of(inquiry) | {"wanted": None}
    except SealBroken:
        return None


def _read_part(inquiry: Inquiry, name: str, adapter: TypeAdapter[Found]) -> Found | None:
    return None if inquiry.answer is None else adapter.validate_python(inquiry.answer[name])


def comparison_stamp(run: Run) -> str:
    """A value that changes whenever the comparison may. A run that continues after its end, because
    failures are tried again, later ends at another moment.
    """
    if run.state in ENDED_STATES:
        return str(run.finished_at)
    return str(timezone.now().timestamp() // AGAIN_SECONDS)


def _address_of_row(row: PageDifference) -> str:
    return row.url


def _summary(old: int, new: int) -> ComparisonSummary:
    by_host: dict[str, dict[str, int]] = {}
    for host, kind, count in _rows_of_query(SUMMARY, {"old": old, "new": new}):
        by_host.setdefault(host, {})[kind] = count
    hosts = [HostCounts(host, ChangeTotals(**kinds)) for host, kinds in by_host.items()]
    hosts.sort(key=lambda one: (-one.counts.different, one.host))
    total = ChangeTotals(
        **{kind: sum(getattr(one.counts, kind) for one in hosts) for kind in (*KINDS, "unchanged")}
    )
    return ComparisonSummary(total, hosts[:HOSTS], max(0, len(hosts) - HOSTS))


def _differences(old: int, new: int, wanted: ChangeFilter) -> list[PageDifference]:
    """The differences, with one more than requested, which shows whether there are more."""
    values = {
        "old": old,
        "new": new,
        "kinds": [wanted.kind] if wanted.kind else list(KINDS),
        "host": wanted.host,
        "after": wanted.after,
        "limit": wanted.limit + 1,
    }
    return [PageDifference(*row) for row in _rows_of_query(ROWS, values)]


def _rows_of_query(query: str, values: dict[str, object]) -> list[tuple[Any, ...]]:
    with time_limit(MOST_SECONDS, ComparingTookTooLong) as cursor:
        cursor.execute("SET LOCAL work_mem = '64MB'")
        # values of any type that PostgreSQL knows
        cursor.execute(query, values)  # type: ignore[arg-type]
        return list(cursor.fetchall())
