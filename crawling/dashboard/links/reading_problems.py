"""Problems that a second reading tells of a page: links that are no URLs, and errors of markup, by
their names in the standard or as the Nu checker tells them.
"""

from __future__ import annotations

from collections.abc import Iterator

from crawling.dashboard.links.problem_kinds import Found, LinkProblem, ProblemKind
from crawling.errors import BadOrder
from crawling.links.nu_reading import NU_ERROR, NU_READ, NU_WARNING
from crawling.links.query import ask
from crawling.links.second_reading import BAD_LINK, ERROR, HAS_BAD_LINKS, READ
from crawling.models import Run

#: text, what it tells, count and line of an error
OneError = dict[str, str | int]
#: different messages of the Nu checker about a page
MOST_TOLD = 20
NU_LABELS = {NU_ERROR: "error", NU_WARNING: "warning"}
ERRORS = """
SELECT page_id, max(text) FILTER (tells = $page),
    list({'tells': tells, 'text': text, 'count': count, 'line': line} ORDER BY tells, line, text)
        FILTER (tells <> $page)
FROM findings
WHERE tells IN ($page, $error, $warning) AND page_id IN (
    SELECT DISTINCT page_id FROM findings
    WHERE tells IN ($error, $warning) AND page_id > $after ORDER BY page_id LIMIT $most
)
GROUP BY page_id ORDER BY page_id
"""


def find_markup_errors(run: Run, after: str, most: int) -> Found:
    names = {"page": READ, "error": ERROR, "warning": ERROR}
    rows, following = _errors(run, names, after, most)
    problems = [
        LinkProblem(ProblemKind.HTML, url, ", ".join(map(_told, errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def find_malformed(run: Run, after: str, most: int) -> Found:
    names = {"page": HAS_BAD_LINKS, "error": BAD_LINK, "warning": BAD_LINK}
    rows, following = _errors(run, names, after, most)
    problems = [
        LinkProblem(ProblemKind.MALFORMED, url, "; ".join(map(_told, errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def find_nu_messages(run: Run, after: str, most: int) -> Found:
    """Errors before warnings; of a page at most MOST_TOLD different ones."""
    names = {"page": NU_READ, "error": NU_ERROR, "warning": NU_WARNING}
    rows, following = _errors(run, names, after, most)
    problems = [
        LinkProblem(ProblemKind.NU, url, "; ".join(_nu_messages(errors)), 200)
        for url, errors in rows
    ]
    return problems, following


def _errors(
    run: Run, names: dict[str, str], after: str, most: int
) -> tuple[list[tuple[str, list[OneError]]], str | None]:
    """Pages with their errors; names: what rows of a page, an error and a warning tell."""
    rows = ask(run, ERRORS, {**names, "after": _number(after or "0"), "most": most + 1})
    following = str(rows[most - 1][0]) if len(rows) > most else None
    return [(url, errors) for _, url, errors in rows[:most]], following


def _nu_messages(errors: list[OneError]) -> Iterator[str]:
    for one in errors[:MOST_TOLD]:
        yield f"{NU_LABELS[str(one['tells'])]}: {_told(one)}"
    if len(errors) > MOST_TOLD:
        yield f"and {len(errors) - MOST_TOLD} more"


def _told(one: OneError) -> str:
    times = f" ({one['count']} times)" if one["count"] != 1 else ""
    place = f" in line {one['line']}" if one["line"] else ""
    return f"{one['text']}{place}{times}"


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
