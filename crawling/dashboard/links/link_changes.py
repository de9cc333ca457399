"""The difference of two runs' link graphs, by page: links that were added, and that are gone.

A link is the same if the page, the target with its fragment, the element and the attribute are; a
new text of it is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from crawling.links.query import ask
from crawling.models import Run

#: pages at a time in files
SLICE = 200
#: of files
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
#: Pages whose links differ: numbers for each page are compared first, since all links of two runs
#: would not fit in memory. By the targets' fingerprints: to read the targets takes three times as
#: long.
CHANGED_PAGES = """
WITH before AS (SELECT page, {mark} AS mark FROM old_links WHERE page > $after GROUP BY page),
now AS (SELECT page, {mark} AS mark FROM links WHERE page > $after GROUP BY page)
SELECT page FROM before FULL JOIN now USING (page)
WHERE before.mark IS DISTINCT FROM now.mark ORDER BY page LIMIT $most
""".format(  # noqa: S608  # constants
    mark="sum(hash(target_fingerprint, fragment, element, attribute)::HUGEINT)"
)
#: the links of pages that one of the runs has and the other has not
ONLY_IN = """
SELECT page, {added} AS is_added, position, target, fragment, element, attribute, anchor, place
FROM (SELECT * FROM {one} WHERE page IN (SELECT unnest($pages)))
ANTI JOIN (SELECT * FROM {other} WHERE page IN (SELECT unnest($pages)))
    USING (page, target, fragment, element, attribute)
"""
CHANGED_LINKS = " UNION ALL ".join(
    (
        ONLY_IN.format(added="true", one="links", other="old_links"),
        ONLY_IN.format(added="false", one="old_links", other="links") + "ORDER BY page, position",
    )
)


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
    """Pages whose links differ, by address, and the address behind which more follow.

    Raises LinkSearchTookTooLong.
    """
    found = ask(new, CHANGED_PAGES, {"after": after, "most": most + 1}, before=old)
    pages = [page for (page,) in found[:most]]
    rows = {page: PageLinkChanges(page, [], []) for page in pages}
    changed = ask(new, CHANGED_LINKS, {"pages": pages}, before=old) if pages else []
    for page, is_added, _, *link in changed:
        row = rows[page]
        (row.added if is_added else row.removed).append(ChangedLink(*link))
    return list(rows.values()), pages[-1] if len(found) > most else None


def each_link_change(old: Run, new: Run) -> Iterator[dict[str, Any]]:
    """A row for each link that was added or removed."""
    after: str | None = ""
    while after is not None:
        rows, after = list_link_changes(old, new, after=after, most=SLICE)
        for row in rows:
            for change in ("added", "removed"):
                for link in getattr(row, change):
                    yield {"page": row.page, "change": change, **asdict(link)}
