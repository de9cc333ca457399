"""Problems that a second reading tells of a page: links that are no URLs, and errors of markup, by
their names in the standard.
"""

from __future__ import annotations

from crawling.base.errors import BadOrder
from crawling.datasets.query import ask
from crawling.datasets.second_reading import BAD_LINK, ERROR, HAS_BAD_LINKS, READ
from crawling.models import Run
from crawling.uses.link_check.problem_kinds import Found, LinkProblem, ProblemKind

#: text, count and line of an error
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


def find_markup_errors(run: Run, after: str, most: int) -> Found:
    rows, following = _errors(run, READ, ERROR, after, most)
    problems = [
        LinkProblem(ProblemKind.HTML, url, ", ".join(map(_told, errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def find_malformed(run: Run, after: str, most: int) -> Found:
    rows, following = _errors(run, HAS_BAD_LINKS, BAD_LINK, after, most)
    problems = [
        LinkProblem(ProblemKind.MALFORMED, url, "; ".join(map(_told, errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def _errors(
    run: Run, page: str, error: str, after: str, most: int
) -> tuple[list[tuple[str, list[OneError]]], str | None]:
    """Pages with their errors; page, error: what the rows of either tell."""
    asked = {"page": page, "error": error, "after": _number(after or "0"), "most": most + 1}
    rows = ask(run, ERRORS, asked)
    following = str(rows[most - 1][0]) if len(rows) > most else None
    return [(url, errors) for _, url, errors in rows[:most]], following


def _told(one: OneError) -> str:
    times = f" ({one['count']} times)" if one["count"] != 1 else ""
    place = f" in line {one['line']}" if one["line"] else ""
    return f"{one['text']}{place}{times}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
