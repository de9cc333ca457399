"""The difference of two runs' link graphs, by page: links that were added, and that are gone.

A link is the same if the page, the target with its fragment, the element and the attribute are; a
new text of it is no difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
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
#: would not fit in memory.
CHANGED_PAGES = """
WITH before AS (SELECT page, sum(hash(target, fragment, element, attribute)::HUGEINT) AS mark
    FROM old_links WHERE page > $after GROUP BY page),
now AS (SELECT page, sum(hash(target, fragment, element, attribute)::HUGEINT) AS mark
    FROM links WHERE page > $after GROUP BY page)
SELECT page FROM before FULL JOIN now USING (page)
WHERE before.mark IS DISTINCT FROM now.mark ORDER BY page LIMIT $most
"""
#: the links of pages that one of the runs has and the other has not
ONLY_IN = """
SELECT page, target, fragment, element, attribute, anchor, place
FROM (SELECT * FROM {one} WHERE page IN (SELECT unnest($pages)))
ANTI JOIN (SELECT * FROM {other} WHERE page IN (SELECT unnest($pages)))
    USING (page, target, fragment, element, attribute)
ORDER BY page, position
"""
ADDED = ONLY_IN.format(one="links", other="old_links")
REMOVED = ONLY_IN.format(one="old_links", other="links")


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
    added: Sequence[ChangedLink] = field(default_factory=list)
    removed: Sequence[ChangedLink] = field(default_factory=list)


def list_link_changes(
    old: Run, new: Run, *, after: str = "", most: int
) -> tuple[list[PageLinkChanges], str | None]:
    """Pages whose links differ, by address, and the address behind which more follow.

    Raises LinkSearchTookTooLong.
    """
    found = ask(new, CHANGED_PAGES, {"after": after, "most": most + 1}, before=old)
    pages = [page for (page,) in found[:most]]
    added, removed = (_only_in(old, new, query, pages) for query in (ADDED, REMOVED))
    rows = [PageLinkChanges(page, added[page], removed[page]) for page in pages]
    return rows, pages[-1] if len(found) > most else None


def _only_in(old: Run, new: Run, query: str, pages: list[str]) -> dict[str, list[ChangedLink]]:
    links: dict[str, list[ChangedLink]] = defaultdict(list)
    for page, *link in ask(new, query, {"pages": pages}, before=old) if pages else ():
        links[page].append(ChangedLink(*link))
    return links


def each_link_change(old: Run, new: Run) -> Iterator[dict[str, Any]]:
    """A row for each link that was added or removed."""
    after: str | None = ""
    while after is not None:
        rows, after = list_link_changes(old, new, after=after, most=SLICE)
        for row in rows:
            for change in ("added", "removed"):
                for link in getattr(row, change):
                    yield {"page": row.page, "change": change, **asdict(link)}
