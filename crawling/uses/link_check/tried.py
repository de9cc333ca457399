"""Addresses of a run that another run of the crawl did not try. A limit may end a run before an
address, or the page that links to it, is fetched. Such a run does not show whether the address
exists.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from crawling.base.timed import SEARCH_SECONDS, SearchTookTooLong, time_limit
from crawling.models import Run, UrlState
from crawling.web.addresses import fingerprint
from crawling.web.statuses import FetchStatus

#: the statuses of a page that is gone together with its links
GONE = "(404, 410)"
#: joins the row of the same address in the run `%(other)s`, and the row of the page on which it was
#: found
JOINED = """crawling_url AS url
LEFT JOIN crawling_url AS met ON met.run_id = %(other)s AND met.fingerprint = url.fingerprint
LEFT JOIN crawling_url AS via ON via.id = url.via AND met.id IS NULL
LEFT JOIN crawling_url AS source
    ON source.run_id = %(other)s AND source.fingerprint = via.fingerprint
CROSS JOIN (SELECT EXISTS (
    SELECT FROM crawling_hostqueue WHERE run_id = %(other)s AND queued > 0
) AS waits) AS rest"""
#: whether the other run has read the links of a page, or knows that the page is gone with its links
IS_READ = f"({{0}}.state = '{UrlState.SUCCEEDED}' OR coalesce({{0}}.status IN {GONE}, false))"
#: the same, as far as the page shows it on which the address was found first
KNOWN_BY_FIRST = f"""CASE
    WHEN met.id IS NOT NULL THEN met.state IN ('{UrlState.SUCCEEDED}', '{UrlState.FAILED}')
        OR coalesce(met.status = {FetchStatus.WRONG_TYPE:d}, false)
    WHEN source.id IS NOT NULL THEN {IS_READ.format("source")}
    ELSE NOT rest.waits END"""
#: whether the other run tried the address, or has no unread page left that might link to it
KNOWN = f"""({KNOWN_BY_FIRST} AND NOT (%(all_held)s AND met.id IS NULL)
    AND url.fingerprint <> ALL(%(held)s::bigint[]))"""
#: addresses that the other run does not have although their first page is read there
CANDIDATES = f"""
SELECT url.fingerprint FROM {JOINED}
WHERE url.run_id = %(run)s AND (%(marks)s::bigint[] IS NULL OR url.fingerprint = ANY(%(marks)s))
    AND url.state = '{UrlState.FAILED}' AND met.id IS NULL AND {KNOWN_BY_FIRST}
ORDER BY url.id LIMIT %(most)s
"""  # noqa: S608  # constants
#: pages whose links the other run has not read
UNREAD = f"""
SELECT page.url FROM crawling_url AS page
LEFT JOIN crawling_url AS met ON met.run_id = %(other)s AND met.fingerprint = page.fingerprint
WHERE page.run_id = %(run)s AND page.state = '{UrlState.SUCCEEDED}'
    AND CASE WHEN met.id IS NOT NULL THEN NOT {IS_READ.format("met")} ELSE EXISTS (
        SELECT FROM crawling_hostqueue WHERE run_id = %(other)s AND queued > 0
    ) END
LIMIT %(most)s
"""  # noqa: S608  # constants
LINKED_FROM = """
SELECT DISTINCT target_fingerprint FROM links
WHERE target_fingerprint IN (SELECT unnest($targets)) AND page IN (SELECT unnest($pages))
"""
#: the most addresses, and the most pages, that are compared; beyond them every address that is new
#: to the other run counts as unknown
MOST_TARGETS, MOST_PAGES = 20_000, 20_000
UNKNOWN = f"""
SELECT url.url FROM {JOINED}
WHERE url.run_id = %(run)s AND url.fingerprint = ANY(%(marks)s) AND NOT {KNOWN}
"""  # noqa: S608  # constants


@dataclass(frozen=True)
class UnknownUrls:
    """Failed addresses about which another run gives no information: it has not requested them, and
    has not read all pages with links to them.
    """

    #: whether all addresses that are new to the other run count as unknown, since not all pages
    #: with links to them are known
    is_all: bool = False
    marks: Sequence[int] = ()

    @property
    def values(self) -> dict[str, Any]:
        return {"all_held": self.is_all, "held": list(self.marks)}


def untried_urls(run: Run, other: Run, urls: Collection[str]) -> set[str]:
    """Those addresses of a run of which another run does not show whether they exist. Raises
    LinkSearchTookTooLong.
    """
    from crawling.datasets.query import LinkSearchTookTooLong

    marks = [fingerprint(url) for url in urls]
    held = unknown_urls(run, other, marks)
    with time_limit(exceeded=LinkSearchTookTooLong) as cursor:
        values: dict[str, Any] = {"run": run.pk, "other": other.pk, "marks": marks}
        cursor.execute(UNKNOWN, values | held.values)
        return {url for (url,) in cursor.fetchall()}


def unknown_urls(
    run: Run,
    other: Run | None,
    marks: Collection[int] | None = None,
    *,
    seconds: int = SEARCH_SECONDS,
) -> UnknownUrls:
    """The failed addresses that another run did not try. marks: only addresses with these
    fingerprints. seconds: the limit of each query; if one takes longer, all addresses count as
    unknown. Not to be called in a transaction, which would keep that limit.
    """
    # DuckDB is imported only where it is needed, which the end of a run is not
    from crawling.datasets.query import LinkSearchTookTooLong, has_all_links, query_links

    if other is None:
        return UnknownUrls()
    wanted = None if marks is None else list(marks)
    values: dict[str, Any] = {"run": run.pk, "other": other.pk, "marks": wanted}
    try:
        with time_limit(seconds) as cursor:
            cursor.execute(CANDIDATES, values | {"most": MOST_TARGETS + 1})
            targets = [mark for (mark,) in cursor.fetchall()]
            if not targets:
                return UnknownUrls()
            cursor.execute(UNREAD, values | {"most": MOST_PAGES + 1})
            pages = [url for (url,) in cursor.fetchall()]
        if not pages:
            return UnknownUrls()
        if max(len(targets) - MOST_TARGETS, len(pages) - MOST_PAGES) > 0 or not has_all_links(run):
            return UnknownUrls(is_all=True)
        rows = query_links(run, LINKED_FROM, {"targets": targets, "pages": pages})
    except (LinkSearchTookTooLong, SearchTookTooLong):
        return UnknownUrls(is_all=True)
    return UnknownUrls(marks=[mark for (mark,) in rows])
