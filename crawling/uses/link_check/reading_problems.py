"""Problems of pages that a second reading finds: invalid links, errors of markup by their names in
the standard, and links whose fragment is missing on the target page, also behind redirects.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from crawling.base.errors import BadOrder
from crawling.datasets.query import query_links, stream_query_rows
from crawling.datasets.second_reading import BAD_LINK, ERROR, HAS_BAD_LINKS, READ
from crawling.models import Run
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind
from crawling.web.addresses import fingerprint
from crawling.web.statuses import MOST_REDIRECTS

#: the text, the number and the line of an error
OneError = dict[str, str | int]
ERRORS = """
SELECT page_id, max(text) FILTER (tells = $page),
    list({'text': text, 'count': count, 'line': line} ORDER BY line, text) FILTER (tells = $error)
FROM findings
WHERE tells IN ($page, $error) AND page_id IN (
    SELECT DISTINCT page_id FROM findings
    WHERE tells = $error AND page_id > $after ORDER BY page_id LIMIT $most
)
GROUP BY page_id ORDER BY page_id
"""
#: the number of pages whose places are in memory together, and the number of redirects that are
#: followed together
SLICE = 2_000
#: the prefix of keys after which links to redirects continue
REDIRECTED = "redirected "
SLICE_OF_PAGES = """
SELECT fingerprint FROM findings WHERE tells = 'read' AND fingerprint >= $first
ORDER BY fingerprint LIMIT $most
"""
#: all fragments but the top, which every page has, text fragments, and fragments for scripts
NAMES_PLACE = """fragment <> '' AND lower(fragment) <> 'top' AND fragment[1] NOT IN ('!', '/')
    AND NOT contains(fragment, ':~:')"""
#: joined by fingerprint alone, since reading the targets would take three times as long
MISSING = f"""
WITH named AS (
    SELECT target_fingerprint AS known, fragment FROM links
    WHERE target_fingerprint BETWEEN $first AND $last AND {NAMES_PLACE} GROUP BY ALL
), pages AS (
    SELECT fingerprint, text FROM findings
    WHERE tells = 'read' AND fingerprint BETWEEN $first AND $last
), places AS (
    SELECT fingerprint, text FROM findings
    WHERE tells = 'place' AND fingerprint BETWEEN $first AND $last
)
SELECT known, pages.text, fragment FROM named JOIN pages ON pages.fingerprint = known
ANTI JOIN places ON places.fingerprint = known AND places.text = fragment
ANTI JOIN places AS decoded
    ON decoded.fingerprint = known AND decoded.text = TRY(url_decode(fragment))
WHERE known > $first OR fragment > $behind ORDER BY known, fragment LIMIT $most
"""  # noqa: S608  # constants
#: A redirect passes on the fragment of a link, unless its Location has a fragment, which then
#: counts (RFC 9110, section 10.2.2).
IS_HANDED_ON = "element = '' AND attribute = 'location' AND fragment = ''"
SLICE_OF_REDIRECTS = f"""
SELECT page_id, page, target FROM links WHERE {IS_HANDED_ON} AND page_id >= $first
ORDER BY page_id LIMIT $most
"""  # noqa: S608  # constants
NEXT_REDIRECTS = f"""
SELECT page, target FROM links WHERE {IS_HANDED_ON} AND page IN (SELECT unnest($pages))
"""  # noqa: S608  # constants
MISSING_BEHIND = f"""
WITH named AS (
    SELECT DISTINCT page_id, url, leads_to, leads_to_url, fragment, behind FROM (
        SELECT wanted.*, links.fragment FROM links
        JOIN wanted ON wanted.known = links.target_fingerprint WHERE {NAMES_PLACE}
    )
), places AS (
    SELECT fingerprint, text FROM findings
    WHERE tells = 'place' AND fingerprint IN (SELECT leads_to FROM wanted)
)
SELECT page_id, url, leads_to_url, fragment FROM named
SEMI JOIN (SELECT fingerprint FROM findings WHERE tells = 'read') pages
    ON pages.fingerprint = leads_to
ANTI JOIN places ON places.fingerprint = leads_to AND places.text = fragment
ANTI JOIN places AS decoded
    ON decoded.fingerprint = leads_to AND decoded.text = TRY(url_decode(fragment))
WHERE fragment > behind ORDER BY page_id, fragment
"""  # noqa: S608  # constants


def find_markup_errors(run: Run, after: str, most: int) -> Found:
    rows, following = _pages_with_errors(run, READ, ERROR, after, most)
    problems = [
        LinkProblem(ProblemKind.HTML, url, ", ".join(map(_error_in_words, errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def find_malformed(run: Run, after: str, most: int) -> Found:
    rows, following = _pages_with_errors(run, HAS_BAD_LINKS, BAD_LINK, after, most)
    problems = [
        LinkProblem(ProblemKind.MALFORMED, url, "; ".join(map(_error_in_words, errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def _pages_with_errors(
    run: Run, page: str, error: str, after: str, most: int
) -> tuple[list[tuple[str, list[OneError]]], str | None]:
    """Pages with their errors. page, error: the kinds of findings for pages, and for their
    errors.
    """
    asked = {"page": page, "error": error, "after": _read_cursor(after or "0"), "most": most + 1}
    rows = query_links(run, ERRORS, asked)
    following = str(rows[most - 1][0]) if len(rows) > most else None
    return [(url, errors) for _, url, errors in rows[:most]], following


def _error_in_words(one: OneError) -> str:
    times = f" ({one['count']} times)" if one["count"] != 1 else ""
    place = f" in line {one['line']}" if one["line"] else ""
    return f"{one['text']}{place}{times}"


def _read_cursor(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error


class _Redirect(NamedTuple):
    page_id: int
    url: str
    leads_to: str


def find_missing_fragments(run: Run, after: str, most: int) -> Found:
    """Missing fragments of links to pages, then of links to redirects. A list may be short although
    there are more.
    """
    if after.startswith(REDIRECTED):
        return _missing_behind_redirects(run, after.removeprefix(REDIRECTED), most)
    found, following = _missing_on_pages(run, after, most)
    if following is not None or len(found) >= most:
        return found, following or f"{REDIRECTED}0 "
    further, following = _missing_behind_redirects(run, "0 ", most - len(found))
    return found + further, following


def _missing_on_pages(run: Run, after: str, most: int) -> Found:
    known, _, behind = after.partition(" ")
    first = _read_cursor(known) if after else -(2**63)
    some = [one for (one,) in query_links(run, SLICE_OF_PAGES, {"first": first, "most": SLICE})]
    if not some:
        return [], None
    values = {"first": first, "last": some[-1], "behind": behind, "most": most + 1}
    rows = query_links(run, MISSING, values)
    problems = [
        LinkProblem(
            ProblemKind.FRAGMENT, f"{target}#{fragment}", f"The page has no id “{fragment}”."
        )
        for _, target, fragment in rows[:most]
    ]
    if len(rows) > most:
        return problems, f"{rows[most - 1][0]} {rows[most - 1][2]}"
    return problems, f"{some[-1] + 1} " if len(some) == SLICE else None


def _missing_behind_redirects(run: Run, after: str, most: int) -> Found:
    page_id, _, behind = after.partition(" ")
    first = _read_cursor(page_id)
    rows = query_links(run, SLICE_OF_REDIRECTS, {"first": first, "most": SLICE})
    some = _redirects_with_ends(run, [_Redirect(*row) for row in rows])
    following = f"{REDIRECTED}{rows[-1][0] + 1} " if len(rows) == SLICE else None
    if not some:
        return [], following
    missing = stream_query_rows(run, MISSING_BEHIND, _redirect_columns(some, first, behind))
    found = list(islice(missing, most + 1))
    problems = [
        LinkProblem(
            ProblemKind.FRAGMENT,
            f"{url}#{fragment}",
            f"It redirects to {leads_to}, which has no id “{fragment}”.",
        )
        for _, url, leads_to, fragment in found[:most]
    ]
    if len(found) > most:
        return problems, f"{REDIRECTED}{found[most - 1][0]} {found[most - 1][3]}"
    return problems, following


def _redirects_with_ends(run: Run, redirects: list[_Redirect]) -> list[_Redirect]:
    """The redirects with the ends of their chains. A chain in which a Location has a fragment ends
    there, without a page at its end.
    """
    ended: list[_Redirect] = []
    for _ in range(MOST_REDIRECTS):
        if not redirects:
            break
        pages = list({one.leads_to for one in redirects})
        targets: dict[str, str] = dict(query_links(run, NEXT_REDIRECTS, {"pages": pages}))
        ended += [one for one in redirects if one.leads_to not in targets]
        redirects = [
            one._replace(leads_to=targets[one.leads_to])
            for one in redirects
            if one.leads_to in targets
        ]
    return ended


def _redirect_columns(redirects: list[_Redirect], first: int, behind: str) -> dict[str, Any]:
    """The columns of a table. behind: the fragment after which those of the first row continue."""
    urls, ends = [one.url for one in redirects], [one.leads_to for one in redirects]
    passed = [behind if one.page_id == first else "" for one in redirects]
    return {
        "page_id": np.array([one.page_id for one in redirects], dtype=np.int64),
        "known": np.array([fingerprint(url) for url in urls], dtype=np.int64),
        "url": np.array(urls, dtype=object),
        "leads_to": np.array([fingerprint(url) for url in ends], dtype=np.int64),
        "leads_to_url": np.array(ends, dtype=object),
        "behind": np.array(passed, dtype=object),
    }
