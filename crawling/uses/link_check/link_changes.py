"""The difference between the link graphs of two runs, by page: links that were added or removed.

A link is the same if page, target with fragment, element and attribute are the same. A changed text
is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crawling.datasets.query import query_links, stream_query_rows
from crawling.models import Run

#: the number of pages read at a time for files
SLICE = 200
#: the columns of files
CHANGE_COLUMNS = (
    "page",
    "change",
    "target",
    "fragment",
    "element",
    "attribute",
    "anchor",
    "place",
)
#: Pages with different links. For each page numbers are compared first, since all links of two runs
#: would not fit in memory. The numbers are made from the targets' fingerprints, since reading the
#: targets would take three times as long.
CHANGED_PAGES = """
WITH before AS (SELECT page, {facts} FROM old_links WHERE {{condition}} GROUP BY page),
now AS (SELECT page, {facts} FROM links WHERE {{condition}} GROUP BY page)
SELECT page, before.page_id, now.page_id FROM before FULL JOIN now USING (page)
WHERE before.mark IS DISTINCT FROM now.mark
""".format(  # noqa: S608  # constants
    facts="sum(hash(target_fingerprint, fragment, element, attribute)::HUGEINT) AS mark, "
    "min(page_id) AS page_id"
)
SOME_CHANGED_PAGES = f"{CHANGED_PAGES.format(condition='page > $after')} ORDER BY page LIMIT $most"
#: in the order of the row groups
ALL_CHANGED_PAGES = f"""{CHANGED_PAGES.format(condition="true")}
ORDER BY now.page_id NULLS LAST, before.page_id
"""
LINK = "page, target, fragment, element, attribute"
ONLY_IN = f"""
SELECT page, {{added}} AS is_added, position, target, fragment, element, attribute, anchor, place
FROM {{one}} ANTI JOIN {{other}} USING ({LINK})
"""  # noqa: S608  # constants
#: The links of these pages that only one of the two runs has. Pages are found by their ids: each id
#: is in few row groups, while addresses would have to be read in all groups. Each link is read
#: once.
CHANGED_LINKS = f"""
WITH now AS MATERIALIZED (SELECT {LINK}, position, anchor, place FROM links
    WHERE page_id IN (SELECT unnest($new))),
before AS MATERIALIZED (SELECT {LINK}, position, anchor, place FROM old_links
    WHERE page_id IN (SELECT unnest($old)))
{ONLY_IN.format(added="true", one="now", other="before")} UNION ALL
{ONLY_IN.format(added="false", one="before", other="now")} ORDER BY page, position
"""  # noqa: S608  # constants


@dataclass(frozen=True)
class ChangedLink:
    target: str
    fragment: str
    element: str
    attribute: str
    anchor: str
    place: str


@dataclass(frozen=True)
class PageLinkChanges:
    """The links of a page that only one of the runs has."""

    page: str
    added: list[ChangedLink]
    removed: list[ChangedLink]


def list_link_changes(
    old: Run, new: Run, *, after: str = "", most: int
) -> tuple[list[PageLinkChanges], str | None]:
    """Pages with different links, by address, and the address after which more follow.

    Raises LinkSearchTookTooLong.
    """
    values = {"after": after, "most": most + 1}
    found = query_links(new, SOME_CHANGED_PAGES, values, before=old)
    rows = _add_links(old, new, found[:most])
    return rows, found[most - 1][0] if len(found) > most else None


def all_link_changes(old: Run, new: Run) -> Iterator[dict[str, Any]]:
    """A row for each link that was added or removed, in the order in which the pages were found.

    Raises LinkSearchTookTooLong.
    """
    found = stream_query_rows(new, ALL_CHANGED_PAGES, before=old)
    while some := list(islice(found, SLICE)):
        for row in _add_links(old, new, some):
            for change in ("added", "removed"):
                for link in getattr(row, change):
                    yield {"page": row.page, "change": change, **vars(link)}


def _add_links(
    old: Run, new: Run, found: Sequence[tuple[str, int | None, int | None]]
) -> list[PageLinkChanges]:
    """The pages with their changed links. found: addresses of pages, with their ids in both
    runs.
    """
    rows = {page: PageLinkChanges(page, [], []) for page, *_ in found}
    ids = {
        "old": [one for _, one, _ in found if one is not None],
        "new": [one for *_, one in found if one is not None],
    }
    changed = query_links(new, CHANGED_LINKS, ids, before=old) if found else []
    for page, is_added, _, *link in changed:
        row = rows[page]
        (row.added if is_added else row.removed).append(ChangedLink(*link))
    return list(rows.values())
