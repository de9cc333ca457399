"""Problems found in the rows of a run's pages and hosts: redirects, slow answers, canonical
addresses, titles and descriptions, pages to which no link leads, and certificates that end soon.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet
from django.utils import timezone

from crawling.base.errors import BadOrder
from crawling.base.timed import time_limit
from crawling.datasets.query import LinkSearchTookTooLong, stream_query_rows
from crawling.models import HostQueue, Page, Run, Url, UrlState
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind
from crawling.web.addresses import BadUrl, canonical_address, fingerprint, read_address
from crawling.web.statuses import DOCUMENT_STATUSES, MOST_REDIRECTS, is_redirect, status_sentence

#: the number of pages that are examined together
SLICE = 5_000
#: the time limit, since titles are counted over all pages of a run
LONGEST_SECONDS = 10
#: the most slices that are read for one list, which may then be shorter than asked for
MOST_SLICES = 4
PERMANENT = (301, 308)
REDIRECTS = (301, 302, 303, 307, 308)
#: pages to which another page or a redirect leads
LINKED = """
SELECT DISTINCT wanted.page_id FROM links
JOIN wanted ON wanted.fingerprint = target_fingerprint AND wanted.page_id <> links.page_id
WHERE element IN ('a', 'area', 'frame', 'iframe', 'meta') OR attribute = 'location'
"""
SEVERAL_CANONICALS = """
SELECT links.page_id, count(*) FROM links JOIN wanted ON wanted.page_id = links.page_id
WHERE element = 'link' AND list_contains(string_split(rel, ' '), 'canonical')
GROUP BY links.page_id HAVING count(*) > 1
"""
#: pages with another canonical address count only for a missing title or description
REPEATED = """
SELECT id, url, words, pages FROM (
    SELECT u.id, u.url, p.{column} AS words, p.canonical IN ('', u.url) AS is_own,
        count(*) FILTER (WHERE p.canonical IN ('', u.url)) OVER (PARTITION BY p.{column}) AS pages
    FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
    WHERE p.run_id = %(run)s AND u.hops = 0 AND p.status = 200 AND p.content_type = ANY(%(types)s)
        AND p.unread NOT IN ('copy', 'busy', 'type', 'no memory', 'no time')
) pages WHERE (words = '' OR pages > 1 AND is_own) AND id > %(after)s ORDER BY id LIMIT %(most)s
"""
HTML = ("text/html", "application/xhtml+xml")
#: a page with a problem, by which the place in the list is known
Judged = tuple[Page, LinkProblem]
#: how long before its end a certificate is reported: ACME clients renew one of 90 days when a third
#: of its time is left
SOON = timedelta(days=30)


def find_redirected(run: Run, after: str, most: int) -> Found:
    redirects = _pages_of(run).filter(status__range=(300, 399)).filter(status__in=REDIRECTS)
    return _scan_pages(redirects, after, most, lambda pages: _redirect_problems(run, pages))


def _redirect_problems(run: Run, pages: Sequence[Page]) -> Iterator[Judged]:
    chains = {page.pk: [page.final_url] for page in pages}
    ends = _follow_redirects(run, {page.pk: page.url.url for page in pages}, chains)
    met = _urls_of(run, {step for steps in chains.values() for step in steps})
    for page in pages:
        steps, end = chains[page.pk], ends.get(page.pk)
        lasts = "permanent" if page.status in PERMANENT else "temporary"
        many = "a redirect" if len(steps) == 1 else f"{len(steps)} redirects"
        if page.url.url in steps:
            told = f"{page.status}, {lasts}: {many} in a loop."
        else:
            told = f"{page.status}, {lasts}: {many} to {steps[-1]}, {_end_in_words(end)}"
        problem = LinkProblem(
            ProblemKind.REDIRECTED,
            page.url.url,
            told,
            page.status,
            chain=tuple(steps),
            new_target=_permanent_target(page, steps, met),
        )
        yield page, problem


def _permanent_target(page: Page, steps: Sequence[str], met: Mapping[str, Url]) -> str:
    """The target of the permanent redirects at the beginning of a chain; empty if no page is
    there.
    """
    target, status = "", page.status
    for step in steps:
        if status not in PERMANENT or step == page.url.url:
            break
        at = met.get(step)
        target, status = step, getattr(getattr(at, "page", None), "status", 0)
    end = met.get(target)
    return "" if end is not None and end.state == UrlState.FAILED else target


def _follow_redirects(
    run: Run, begins: dict[int, str], chains: dict[int, list[str]]
) -> dict[int, Url]:
    """Complete the chains. Return the outcomes of their last addresses."""
    ends: dict[int, Url] = {}
    open_ones = set(chains)
    for _ in range(MOST_REDIRECTS):
        met = _urls_of(run, {chains[pk][-1] for pk in open_ones})
        for pk in list(open_ones):
            at, chain = met.get(chains[pk][-1]), chains[pk]
            page: Page | None = getattr(at, "page", None)
            if at is not None:
                ends[pk] = at
            is_loop = chain[-1] == begins[pk]
            if page is None or not is_redirect(page.status) or is_loop or page.final_url in chain:
                open_ones.discard(pk)
            else:
                chain.append(page.final_url)
        if not open_ones:
            break
    return {pk: end for pk, end in ends.items() if end.url == chains[pk][-1]}


def _urls_of(run: Run, urls: Collection[str]) -> dict[str, Url]:
    found = Url.objects.filter(
        run=run, fingerprint__in=[fingerprint(url) for url in urls], url__in=urls
    )
    return {url.url: url for url in found.select_related("page")}


def _end_in_words(end: Url | None) -> str:
    if end is None:
        return "not part of this crawl."
    if end.status is None:
        return "not fetched yet."
    return status_sentence(end.status).rstrip(".") + "."


def find_unread(run: Run, after: str, most: int) -> Found:
    """Pages that were not completely read, except copies that the order leaves unread."""
    pages = _pages_of(run).exclude(unread="").exclude(unread="copy")
    return _scan_pages(pages, after, most, _unread_problems)


def _unread_problems(pages: Sequence[Page]) -> Iterator[Judged]:
    for page in pages:
        told = f"{page.why_unread} Its type is {page.content_type or 'unknown'}."
        yield page, LinkProblem(ProblemKind.UNREAD, page.url.url, told, page.status)


def find_orphans(run: Run, after: str, most: int) -> Found:
    """Pages that were reached only as a seed or by a sitemap. A home page needs no link."""
    pages = _pages_of(run).filter(status__in=DOCUMENT_STATUSES, content_type__in=HTML, url__hops=0)
    return _scan_pages(pages, after, most, lambda some: _orphan_problems(run, some))


def _orphan_problems(run: Run, pages: Sequence[Page]) -> Iterator[Judged]:
    wanted = {
        "page_id": np.array([page.pk for page in pages], dtype=np.int64),
        "fingerprint": np.array([page.url.fingerprint for page in pages], dtype=np.int64),
    }
    linked = {page_id for (page_id,) in stream_query_rows(run, LINKED, wanted)}
    for page in pages:
        if page.pk not in linked and canonical_address(page.url.url).target != "/":
            told = "No page links to it: it was found by a start URL or a sitemap."
            yield page, LinkProblem(ProblemKind.ORPHAN, page.url.url, told, page.status)


def find_canonical(run: Run, after: str, most: int) -> Found:
    pages = _pages_of(run).filter(status__in=DOCUMENT_STATUSES).exclude(canonical="")
    return _scan_pages(pages, after, most, lambda some: _canonical_problems(run, some))


def _canonical_problems(run: Run, pages: Sequence[Page]) -> Iterator[Judged]:
    wanted = {"page_id": np.array([page.pk for page in pages], dtype=np.int64)}
    several = dict(stream_query_rows(run, SEVERAL_CANONICALS, wanted))
    others = [page for page in pages if page.canonical != page.url.url]
    met = _urls_of(run, {page.canonical for page in others})
    for page in pages:
        told = _canonical_error(page, met.get(page.canonical)) if page in others else ""
        if page.pk in several:
            told = f"It names {several[page.pk]} canonical addresses."
        if told:
            yield page, LinkProblem(ProblemKind.CANONICAL, page.url.url, told, page.status)


def _canonical_error(page: Page, target: Url | None) -> str:
    named = f"Its canonical address, {page.canonical},"
    try:
        there = read_address(page.canonical).host_key
    except BadUrl:
        return f"{named} is no URL."
    if canonical_address(page.url.url).host_key != there:
        return f"{named} is on another host."
    if target is None or target.status is None:
        return ""
    if not 200 <= target.status < 300:
        return f"{named} answers: {_end_in_words(target)}"
    further = target.page.canonical if hasattr(target, "page") else ""
    return f"{named} names another, {further}." if further not in ("", target.url) else ""


def find_slow(run: Run, after: str, most: int, seconds: float) -> Found:
    """Pages with slow answers, the slowest first."""
    pages = _pages_of(run).filter(fetch_seconds__gte=seconds, url__hops=0)
    if after:
        slower, _, pk = after.partition(" ")
        try:
            last, number = float(slower), int(pk)
        except ValueError as error:
            raise _bad_cursor() from error
        pages = pages.filter(Q(fetch_seconds__lt=last) | Q(fetch_seconds=last, pk__gt=number))
    found = list(pages.order_by("-fetch_seconds", "pk")[: most + 1])
    problems = [
        LinkProblem(
            ProblemKind.SLOW, page.url.url, f"It took {page.fetch_seconds:.1f} s.", page.status
        )
        for page in found[:most]
    ]
    last_shown = found[most - 1] if len(found) > most else None
    return problems, f"{last_shown.fetch_seconds!r} {last_shown.pk}" if last_shown else None


def find_repeated(run: Run, after: str, most: int, kind: ProblemKind) -> Found:
    """Pages without a title or a description, or with the same one as another page.

    Raises LinkSearchTookTooLong.
    """
    try:
        values: dict[str, Any] = {
            "run": run.pk,
            "types": list(HTML),
            "after": int(after or 0),
            "most": most + 1,
        }
    except ValueError as error:
        raise _bad_cursor() from error
    with time_limit(LONGEST_SECONDS, LinkSearchTookTooLong) as cursor:
        cursor.execute(REPEATED.format(column=str(kind)), values)
        rows = cursor.fetchall()
    problems = [
        LinkProblem(kind, url, _repetition_in_words(kind, words, pages), 200)
        for _, url, words, pages in rows[:most]
    ]
    return problems, str(rows[most - 1][0]) if len(rows) > most else None


def _repetition_in_words(kind: ProblemKind, words: str, pages: int) -> str:
    if not words:
        return f"It has no {kind}."
    return f"{pages} pages have the {kind} “{words}”."


def _pages_of(run: Run) -> QuerySet[Page]:
    return Page.objects.filter(run=run).select_related("url")


def _scan_pages(
    pages: QuerySet[Page],
    after: str,
    most: int,
    judge: Callable[[Sequence[Page]], Iterable[Judged]],
) -> Found:
    """The problems of pages, one a page, in the order of the fetches, which is the order of the
    index.
    """
    at, found = _read_key(after), list[Judged]()
    for _ in range(MOST_SLICES):
        some = list(_pages_after(pages, at).order_by("fetched_at", "url_id")[:SLICE])
        found += judge(some) if some else ()
        if len(found) > most:
            return [problem for _, problem in found[:most]], _key_of_page(found[most - 1][0])
        if len(some) < SLICE:
            return [problem for _, problem in found], None
        at = some[-1].fetched_at, some[-1].pk
    return [problem for _, problem in found], _key_of_page(some[-1])


def _pages_after(pages: QuerySet[Page], at: tuple[datetime, int] | None) -> QuerySet[Page]:
    if at is None:
        return pages
    # the first condition lets PostgreSQL begin at the right place in the index
    return pages.filter(Q(fetched_at__gte=at[0]) & (Q(fetched_at__gt=at[0]) | Q(url_id__gt=at[1])))


def _key_of_page(page: Page) -> str:
    return f"{page.fetched_at.isoformat()} {page.pk}"


def _read_key(after: str) -> tuple[datetime, int] | None:
    moment, _, pk = after.partition(" ")
    try:
        return (datetime.fromisoformat(moment), int(pk)) if after else None
    except ValueError as error:
        raise _bad_cursor() from error


def _bad_cursor() -> BadOrder:
    return BadOrder({"cursor": "It is no `next` of a page before."})


def find_certificates(run: Run, after: str, most: int) -> Found:
    """Certificates by their ends, with those that have expired since the run."""
    now = timezone.now()
    queues = HostQueue.objects.filter(run=run, certificate_ends_at__lt=now + SOON)
    if after:
        ends_at, pk = _read_expiry_cursor(after)
        same = Q(certificate_ends_at=ends_at, pk__gt=pk)
        queues = queues.filter(Q(certificate_ends_at__gt=ends_at) | same)
    rows = queues.order_by("certificate_ends_at", "pk").values_list(
        "certificate_ends_at", "pk", "host__name"
    )
    found = list(rows[: most + 1])
    problems = [
        LinkProblem(ProblemKind.CERTIFICATE, f"https://{host}/", _expiry_in_words(ends_at, now))
        for ends_at, _, host in found[:most]
        if ends_at
    ]
    if len(found) <= most or not (last := found[most - 1])[0]:
        return problems, None
    return problems, f"{last[0].isoformat()} {last[1]}"


def _expiry_in_words(ends_at: datetime, now: datetime) -> str:
    day, days = f"{ends_at:%Y-%m-%d}", (ends_at - now).days
    if ends_at <= now:
        return f"Its certificate ended on {day}, unless it was renewed since."
    return f"Its certificate ends on {day}, in {days} day{'' if days == 1 else 's'}."


def _read_expiry_cursor(after: str) -> tuple[datetime, int]:
    moment, _, pk = after.partition(" ")
    try:
        return datetime.fromisoformat(moment), int(pk)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
