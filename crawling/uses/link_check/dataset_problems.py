"""Problems found in the links dataset, together with the outcomes of the addresses: broken links,
links to plain HTTP on pages fetched by HTTPS, and invalid language tags (BCP 47, with the parts in
the IANA registry).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from django.db import connection

from crawling.base.errors import BadOrder
from crawling.datasets.query import query_links
from crawling.models import Run, Url, UrlState
from crawling.uses.link_check.problem_kinds import CONDITIONS, Found, LinkProblem, ProblemKind
from crawling.web.addresses import fingerprint
from crawling.web.statuses import status_sentence

#: the longest tag (RFC 5646, section 4.4.1)
LONGEST = 35
#: the parts after the language, in their order (section 2.1); only variants may occur several times
PARTS = ("extlang", "script", "region", "variant")
#: The index is ordered by status, then by id, so that only the first rows of each status are read.
#: With an order by id alone PostgreSQL might search along the primary key, through all runs.
FAILED = f"""
WITH RECURSIVE known (status) AS (
    (SELECT status FROM crawling_url WHERE run_id = %(run)s AND state = '{UrlState.FAILED}'
     ORDER BY status LIMIT 1)
    UNION ALL
    SELECT (SELECT status FROM crawling_url
             WHERE run_id = %(run)s AND state = '{UrlState.FAILED}' AND status > known.status
             ORDER BY status LIMIT 1)
      FROM known WHERE known.status IS NOT NULL
), first (id) AS (
    SELECT one.id FROM known CROSS JOIN LATERAL (
        SELECT id FROM crawling_url
         WHERE run_id = %(run)s AND state = '{UrlState.FAILED}' AND status = known.status
           AND id > %(after)s
         ORDER BY id LIMIT %(most)s
    ) AS one
    UNION ALL
    (SELECT id FROM crawling_url
      WHERE run_id = %(run)s AND state = '{UrlState.FAILED}' AND status IS NULL AND id > %(after)s
      ORDER BY id + 0 LIMIT %(most)s)
    ORDER BY id LIMIT %(most)s
)
SELECT id, url, coalesce(status, 0), error FROM crawling_url
 WHERE id = ANY(ARRAY(SELECT id FROM first)) ORDER BY id
"""  # noqa: S608 - the state is a constant
INSECURE_TARGETS = """
SELECT target FROM links WHERE {condition} AND target > $after
GROUP BY target ORDER BY target LIMIT $most
"""
#: rows of the same element are adjacent, so that only those of `link` are read
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
#: the answers for the pages of such tags
ANSWERS = """
SELECT DISTINCT page, target FROM links
WHERE element = 'link' AND contains(rel, 'hreflang=') AND page IN (SELECT unnest($pages))
"""
#: the tag for all other languages
DEFAULT = "x-default"
WRONG_PLAIN = {
    ProblemKind.MIXED_CONTENT: "A page that came by HTTPS needs it; browsers refuse it.",
    ProblemKind.PLAIN_HTTP: "It leads from HTTPS to plain HTTP.",
}


def is_valid_language_tag(tag: str) -> bool:
    """Whether a language tag is valid, ignoring case. A tag is valid if it begins with `x-` or is
    registered as a whole. The part after a single letter (an extension, or private use) is not
    checked.
    """
    if not tag.isascii() or len(tag) > LONGEST:
        return False
    known, subtags = _registry(), tag.lower().split("-")
    if tag.lower() in known["grandfathered"] or (subtags[0] == "x" and len(subtags) > 1):
        return True
    if subtags[0] not in known["language"]:
        return False
    kinds = list(PARTS)
    for subtag in subtags[1:]:
        if len(subtag) == 1 and subtag.isalnum():
            return True
        while kinds and subtag not in known[kinds[0]]:
            del kinds[0]
        if not kinds:
            return False
        if kinds[0] != "variant":
            del kinds[0]
    return True


@cache
def _registry() -> Mapping[str, frozenset[str]]:
    """Subtags by their type. A process reads them once, in a tenth of a second. The import,
    which takes another tenth, is made by those who call this.
    """
    from langcodes.registry_parser import parse_registry

    known = defaultdict[str, set[str]](set)
    for record in parse_registry():  # type: ignore[no-untyped-call]
        name = str(record.get("Subtag") or record.get("Tag") or "").lower()
        known[str(record["Type"])].add(name)
    return defaultdict(frozenset, {kind: frozenset(names) for kind, names in known.items()})


class UrlFailure(NamedTuple):
    pk: int
    url: str
    status: int
    error: str


def failed_urls(run: Run, after: int, most: int) -> list[UrlFailure]:
    """The first failed URLs after an id, in the order of finding."""
    with connection.cursor() as cursor:
        cursor.execute(FAILED, {"run": run.pk, "after": after, "most": most})
        return [UrlFailure(*row) for row in cursor.fetchall()]


def find_broken(run: Run, after: str, most: int) -> Found:
    failed = failed_urls(run, _read_cursor(after), most + 1)
    problems = [
        LinkProblem(ProblemKind.BROKEN, one.url, status_sentence(one.status), one.status)
        for one in failed[:most]
    ]
    return problems, str(failed[most - 1].pk) if len(failed) > most else None


def find_insecure(run: Run, after: str, most: int, kind: ProblemKind) -> Found:
    query = INSECURE_TARGETS.format(condition=CONDITIONS[kind])
    targets = [target for (target,) in query_links(run, query, {"after": after, "most": most + 1})]
    problems = [LinkProblem(kind, target, WRONG_PLAIN[kind]) for target in targets[:most]]
    return problems, targets[most - 1] if len(targets) > most else None


def find_languages(run: Run, after: str, most: int) -> Found:
    """Pages with wrong statements about their versions in other languages. The list may be shorter
    than `most` although more follow.
    """
    rows = query_links(run, PAGES_WITH_LANGUAGES, {"after": _read_cursor(after), "most": most + 1})
    ids = [page_id for (page_id,) in rows[:most]]
    following = str(ids[-1]) if len(rows) > most else None
    named = query_links(run, LANGUAGES, {"ids": ids}) if ids else []
    targets = {target for _, _, target, _ in named}
    answers = set(query_links(run, ANSWERS, {"pages": list(targets)})) if targets else set()
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
        if code != DEFAULT and not is_valid_language_tag(code)
    ]


def _wrong_language(
    page: str, target: str, fetched: Url | None, answers: set[tuple[Any, ...]]
) -> str:
    if page == target or fetched is None or fetched.status is None:
        return ""
    if not 200 <= fetched.status < 300:
        return f"{target} answers: {status_sentence(fetched.status).rstrip('.')}."
    return "" if (target, page) in answers else f"{target} does not name this page."


def _read_cursor(after: str) -> int:
    try:
        return int(after or 0)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
