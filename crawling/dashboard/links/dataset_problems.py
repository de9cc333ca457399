"""Problems that the links dataset tells, with what became of the addresses: broken links, plain
HTTP on pages that came by HTTPS, and languages.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import F, QuerySet

from crawling.dashboard.links.language_tags import is_language
from crawling.dashboard.links.problem_kinds import CONDITIONS, Found, LinkProblem, ProblemKind
from crawling.errors import BadOrder
from crawling.links.query import ask
from crawling.models import Run, Url, UrlState
from crawling.web.addresses import fingerprint
from crawling.web.statuses import explain

INSECURE_TARGETS = """
SELECT target FROM links WHERE {condition} AND target > $after
GROUP BY target ORDER BY target LIMIT $most
"""
#: rows of the same element lie together: of a part only those of `link` are read
PAGES_WITH_LANGUAGES = """
SELECT DISTINCT page_id FROM links
WHERE element = 'link' AND contains(rel, 'hreflang=') AND page_id > $after
ORDER BY page_id LIMIT $most
"""
LANGUAGES = """
SELECT page_id, page, target, rel FROM links
WHERE element = 'link' AND contains(rel, 'hreflang=') AND page_id IN (SELECT unnest($ids))
ORDER BY page_id, position
"""
#: what pages say that are named so
ANSWERS = """
SELECT DISTINCT page, target FROM links
WHERE element = 'link' AND contains(rel, 'hreflang=') AND page IN (SELECT unnest($pages))
"""
#: what stands for every other language
DEFAULT = "x-default"
WRONG_PLAIN = {
    ProblemKind.MIXED_CONTENT: "A page that came by HTTPS needs it; browsers refuse it.",
    ProblemKind.PLAIN_HTTP: "It leads from HTTPS to plain HTTP.",
}


def failed_urls(run: Run, after: int) -> QuerySet[Url]:
    """In the order of finding. By the bare id PostgreSQL may look for them along the primary key,
    through the URLs of all runs.
    """
    failed = Url.objects.filter(run=run, state=UrlState.FAILED, pk__gt=after)
    return failed.order_by(F("pk") + 0)


def find_broken(run: Run, after: str, most: int) -> Found:
    rows = failed_urls(run, _number(after)).values_list("pk", "url", "status")
    failed = list(rows[: most + 1])
    problems = [
        LinkProblem(ProblemKind.BROKEN, url, explain(status or 0), status or 0)
        for _, url, status in failed[:most]
    ]
    return problems, str(failed[most - 1][0]) if len(failed) > most else None


def find_insecure(run: Run, after: str, most: int, kind: ProblemKind) -> Found:
    query = INSECURE_TARGETS.format(condition=CONDITIONS[kind])
    targets = [target for (target,) in ask(run, query, {"after": after, "most": most + 1})]
    problems = [LinkProblem(kind, target, WRONG_PLAIN[kind]) for target in targets[:most]]
    return problems, targets[most - 1] if len(targets) > most else None


def find_languages(run: Run, after: str, most: int) -> Found:
    """Pages that name others in other languages, wrongly; a list may be short."""
    rows = ask(run, PAGES_WITH_LANGUAGES, {"after": _number(after), "most": most + 1})
    ids = [page_id for (page_id,) in rows[:most]]
    following = str(ids[-1]) if len(rows) > most else None
    named = ask(run, LANGUAGES, {"ids": ids}) if ids else []
    targets = {target for _, _, target, _ in named}
    answers = set(ask(run, ANSWERS, {"pages": list(targets)})) if targets else set()
    fetched = {
        url.url: url
        for url in Url.objects.filter(
            run=run, fingerprint__in=[fingerprint(url) for url in targets], url__in=targets
        )
    }
    wrong: dict[str, list[str]] = defaultdict(list)
    for _, page, target, rel in named:
        wrong[page] += _bad_codes(rel)
        if told := _wrong_language(page, target, fetched.get(target), answers):
            wrong[page].append(told)
    return [
        LinkProblem(ProblemKind.HREFLANG, page, " ".join(told))
        for page, told in wrong.items()
        if told
    ], following


def _bad_codes(rel: str) -> list[str]:
    codes = [word.removeprefix("hreflang=") for word in rel.split() if "hreflang=" in word]
    return [
        f"“{code}” is no code of a language."
        for code in codes
        if code != DEFAULT and not is_language(code)
    ]


def _wrong_language(
    page: str, target: str, fetched: Url | None, answers: set[tuple[Any, ...]]
) -> str:
    if page == target or fetched is None or fetched.status is None:
        return ""
    if not 200 <= fetched.status < 300:
        return f"{target} answers: {explain(fetched.status).rstrip('.')}."
    return "" if (target, page) in answers else f"{target} does not name this page."


def _number(after: str) -> int:
    try:
        return int(after or 0)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
