"""The pages and hosts of a link graph by rank, and its components; each list goes on behind a key.

PageRank, hub and authority are multiples of the mean: 1 is what a page would have if all pages had
the same. A host has the sums of its pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from django.db.models import TextChoices

from crawling.errors import ArchiveTrouble, BadOrder
from crawling.link_graph.graphs import LinkGraph, computed_graph
from crawling.link_graph.tables import ask, each_row
from crawling.links.query import LinkSearchTookTooLong
from crawling.models import Page

PAGES = """
SELECT page_id, url, host, in_links, out_links, pagerank, hub, authority, weak, strong
FROM pages WHERE {conditions}
"""
HOSTS = """
SELECT host, domain, pages, in_links, out_links, inner_links, in_hosts, out_hosts, pagerank, hub,
    authority, weak, strong
FROM hosts WHERE {conditions}
"""
BEHIND = "({sort} < $value OR ({sort} = $value AND {key} > $key))"
LARGEST_FIRST = "ORDER BY {sort} DESC, {key} LIMIT $most"
COMPONENTS = """
SELECT number, pages, page_id, url FROM components
WHERE kind = $kind AND number > $after ORDER BY number LIMIT $most
"""
RANKS_OF_PAGE = """
SELECT in_links, out_links, pagerank, hub, authority, weak, strong,
    (SELECT 1 + count(*) FROM pages WHERE pagerank > own.pagerank), $pages
FROM pages AS own WHERE page_id = $page
"""
#: digits of a number that DuckDB keeps in 64 bits
MOST_DIGITS = 18


class RankSort(TextChoices):
    """By which column pages and hosts are sorted, the largest first."""

    PAGERANK = "pagerank", "PageRank"
    IN_LINKS = "in_links", "Links to it"
    OUT_LINKS = "out_links", "Links from it"
    HUB = "hub", "Hub"
    AUTHORITY = "authority", "Authority"


class ComponentKind(TextChoices):
    """Kinds of components of a graph."""

    WEAK = "weak", "Weakly connected"
    STRONG = "strong", "Strongly connected"


@dataclass(frozen=True)
class RankedPage:
    """A page of a link graph."""

    id: int
    url: str
    host: str
    #: pages that link to it, and pages that it links to
    in_links: int
    out_links: int
    pagerank: float
    hub: float
    authority: float
    #: the numbers of its components; 1 is the largest
    weak: int
    strong: int
    #: of the answer; None: the page is not stored any more
    status: int | None = None
    title: str = ""


@dataclass(frozen=True)
class RankedHost:
    """A host of pages, or one that links lead to."""

    host: str
    #: its registrable domain; empty: it has none
    domain: str
    pages: int
    #: links from other hosts, to other hosts, and between its own pages
    in_links: int
    out_links: int
    inner_links: int
    in_hosts: int
    out_hosts: int
    pagerank: float
    hub: float
    authority: float
    #: of the graph of hosts
    weak: int
    strong: int


@dataclass(frozen=True)
class GraphComponent:
    """A component of the graph of pages, of two pages or more, with its page of the highest
    PageRank.
    """

    number: int
    pages: int
    page_id: int
    url: str


@dataclass(frozen=True)
class PageRanks:
    """What a link graph tells of a page."""

    in_links: int
    out_links: int
    pagerank: float
    hub: float
    authority: float
    weak: int
    strong: int
    #: 1 more than pages of a higher PageRank, of so many pages
    place: int
    of_pages: int


@dataclass(frozen=True)
class RankFilter:
    """What is wanted: with this text in the address or name, of this host, and of this component
    (`weak-1`); empty: any. Hosts are filtered by text only.
    """

    text: str = ""
    host: str = ""
    component: str = ""

    @property
    def of_pages(self) -> tuple[str, dict[str, Any]]:
        """A condition with its values. Raises BadOrder."""
        conditions, values = ["true"], dict[str, Any]()
        if self.text:
            conditions.append("contains(lower(url), lower($text))")
            values["text"] = self.text
        if self.host:
            conditions.append("host = $host")
            values["host"] = self.host
        if self.component:
            kind, _, number = self.component.partition("-")
            if kind not in ComponentKind.values or not _is_number(number):
                raise BadOrder({"component": "must be like weak-1 or strong-1"})
            conditions.append(f"{kind} = CAST($component AS BIGINT)")
            values["component"] = number
        return " AND ".join(conditions), values

    @property
    def of_hosts(self) -> tuple[str, dict[str, Any]]:
        if not self.text:
            return "true", {}
        return "contains(host, lower($text))", {"text": self.text}


#: of files: what is read from the graph alone
PAGE_COLUMNS = [one.name for one in fields(RankedPage) if one.default is MISSING]
HOST_COLUMNS = [one.name for one in fields(RankedHost)]


def list_pages(
    graph: LinkGraph, sort: RankSort, wanted: RankFilter, *, after: str = "", most: int
) -> tuple[list[RankedPage], str | None]:
    """Pages by rank, and the key behind which more follow. Raises BadOrder, LinkSearchTookTooLong,
    ArchiveTrouble.
    """
    condition, values = wanted.of_pages
    if after:
        values["value"], key = _read_key(after)
        if not _is_number(key):
            raise _no_key()
        values["key"] = int(key)
        condition += f" AND {BEHIND.format(sort=sort.value, key='page_id')}"
    query = PAGES.format(conditions=condition)
    query += LARGEST_FIRST.format(sort=sort.value, key="page_id")
    found = [RankedPage(*row) for row in ask(graph, query, values | {"most": most + 1})]
    following = _key(found[most - 1], sort, found[most - 1].id) if len(found) > most else None
    return _with_answers(found[:most]), following


def list_hosts(
    graph: LinkGraph, sort: RankSort, wanted: RankFilter, *, after: str = "", most: int
) -> tuple[list[RankedHost], str | None]:
    """Hosts by rank, and the key behind which more follow. Raises as `list_pages`."""
    condition, values = wanted.of_hosts
    if after:
        values["value"], values["key"] = _read_key(after)
        condition += f" AND {BEHIND.format(sort=sort.value, key='host')}"
    query = HOSTS.format(conditions=condition)
    query += LARGEST_FIRST.format(sort=sort.value, key="host")
    found = [RankedHost(*row) for row in ask(graph, query, values | {"most": most + 1})]
    following = _key(found[most - 1], sort, found[most - 1].host) if len(found) > most else None
    return found[:most], following


def list_components(
    graph: LinkGraph, kind: ComponentKind, *, after: int = 0, most: int
) -> tuple[list[GraphComponent], int | None]:
    """Components of two pages or more, the largest first, and the number behind which more
    follow.
    """
    values = {"kind": kind.value, "after": min(after, 10**MOST_DIGITS), "most": most + 1}
    found = [GraphComponent(*row) for row in ask(graph, COMPONENTS, values)]
    return found[:most], found[most - 1].number if len(found) > most else None


def ranks_of_page(page: Page) -> PageRanks | None:
    """None: no graph of its run is here, or it was computed before the page was fetched."""
    graph = computed_graph(page.run)
    if graph is None:
        return None
    try:
        rows = ask(graph, RANKS_OF_PAGE, {"page": page.pk, "pages": graph.pages})
    except (ArchiveTrouble, LinkSearchTookTooLong):
        return None  # the page of the graph says so
    return PageRanks(*rows[0]) if rows else None


def each_page(graph: LinkGraph, wanted: RankFilter) -> Iterator[dict[str, Any]]:
    """All pages that are wanted, by their ids. Raises as `list_pages`."""
    condition, values = wanted.of_pages
    rows = each_row(graph, PAGES.format(conditions=condition), values)
    return (dict(zip(PAGE_COLUMNS, row, strict=True)) for row in rows)


def each_host(graph: LinkGraph, wanted: RankFilter) -> Iterator[dict[str, Any]]:
    """All hosts that are wanted, those with the most links first. Raises as `list_pages`."""
    condition, values = wanted.of_hosts
    rows = each_row(graph, HOSTS.format(conditions=condition), values)
    return (dict(zip(HOST_COLUMNS, row, strict=True)) for row in rows)


def _with_answers(pages: Sequence[RankedPage]) -> list[RankedPage]:
    stored = Page.objects.filter(pk__in=[page.id for page in pages])
    answers = {row[0]: row[1:] for row in stored.values_list("pk", "status", "title")}
    told = ((page, answers.get(page.id, (None, ""))) for page in pages)
    return [replace(page, status=status, title=title) for page, (status, title) in told]


def _key(row: RankedPage | RankedHost, sort: RankSort, last: int | str) -> str:
    return f"{getattr(row, sort.value)!r}_{last}"


def _read_key(after: str) -> tuple[float, str]:
    value, _, key = after.partition("_")
    try:
        return float(value), key
    except ValueError as error:
        raise _no_key() from error


def _no_key() -> BadOrder:
    return BadOrder({"cursor": "It is no `next` of a page before."})


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
