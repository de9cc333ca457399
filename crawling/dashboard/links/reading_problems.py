"""Problems that a second reading of the pages finds: fragments that name no place of their page,
and errors of markup.
"""

from __future__ import annotations

from crawling.dashboard.links.problem_kinds import Found, LinkProblem, ProblemKind
from crawling.errors import BadOrder
from crawling.links.query import ask
from crawling.models import Run

#: pages whose places are in memory together
SLICE = 2_000
SLICE_OF_PAGES = """
SELECT fingerprint FROM findings WHERE tells = 'read' AND fingerprint >= $first
ORDER BY fingerprint LIMIT $most
"""
#: Every page has a top; others name a place of a script's own, or a text.
MISSING = """
WITH named AS (
    SELECT target_fingerprint AS known, fragment, min(target) AS target FROM links
    WHERE target_fingerprint BETWEEN $first AND $last AND fragment <> ''
        AND lower(fragment) <> 'top' AND fragment[1] NOT IN ('!', '/')
        AND NOT contains(fragment, ':~:')
    GROUP BY ALL
), pages AS (
    SELECT fingerprint, text FROM findings
    WHERE tells = 'read' AND fingerprint BETWEEN $first AND $last
), places AS (
    SELECT fingerprint, text FROM findings
    WHERE tells = 'place' AND fingerprint BETWEEN $first AND $last
)
SELECT known, target, fragment FROM named
SEMI JOIN pages ON pages.fingerprint = known AND pages.text = target
ANTI JOIN places ON places.fingerprint = known AND places.text = fragment
ANTI JOIN places AS decoded
    ON decoded.fingerprint = known AND decoded.text = TRY(url_decode(fragment))
WHERE known > $first OR fragment > $behind ORDER BY known, fragment LIMIT $most
"""
ERRORS = """
SELECT page_id, max(text) FILTER (tells = 'read'),
    list({'code': text, 'count': count, 'line': line} ORDER BY line, text) FILTER (tells = 'error')
FROM findings
WHERE tells IN ('read', 'error') AND page_id IN (
    SELECT DISTINCT page_id FROM findings WHERE tells = 'error' AND page_id > $after
    ORDER BY page_id LIMIT $most
)
GROUP BY page_id ORDER BY page_id
"""


def find_missing_fragments(run: Run, after: str, most: int) -> Found:
    """A list may be short although there are more."""
    known, _, behind = after.partition(" ")
    first = _number(known) if after else -(2**63)
    some = [one for (one,) in ask(run, SLICE_OF_PAGES, {"first": first, "most": SLICE})]
    if not some:
        return [], None
    values = {"first": first, "last": some[-1], "behind": behind, "most": most + 1}
    rows = ask(run, MISSING, values)
    problems = [
        LinkProblem(
            ProblemKind.FRAGMENT, f"{target}#{fragment}", f"The page has no id “{fragment}”."
        )
        for _, target, fragment in rows[:most]
    ]
    if len(rows) > most:
        return problems, f"{rows[most - 1][0]} {rows[most - 1][2]}"
    return problems, f"{some[-1] + 1} " if len(some) == SLICE else None


def find_markup_errors(run: Run, after: str, most: int) -> Found:
    rows = ask(run, ERRORS, {"after": _number(after or "0"), "most": most + 1})
    problems = [
        LinkProblem(ProblemKind.HTML, url, ", ".join(map(_error, errors)), 200)
        for _, url, errors in rows[:most]
    ]
    return problems, str(rows[most - 1][0]) if len(rows) > most else None


def _error(one: dict[str, str | int]) -> str:
    times = f" ({one['count']} times)" if one["count"] != 1 else ""
    return f"{one['code']} in line {one['line']}{times}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
