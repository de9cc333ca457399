"""Reports on the links dataset, together with the outcomes of the addresses.

Each list is read page by page, after a key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from crawling.dashboard.base.api_parameters import canonical_or_empty, key_of
from crawling.datasets.query import query_links
from crawling.models import Run, Url
from crawling.uses.link_check.dataset_problems import failed_urls
from crawling.uses.link_check.link_sources import LinkSource, first_sources
from crawling.uses.link_check.list_orders import (
    HostSort,
    LinkSort,
    ListOrder,
    MediaSort,
    TooManyMedia,
    count_rows,
    read_sort_key,
)
from crawling.web.addresses import fingerprint
from crawling.web.statuses import status_sentence
from serving.listing.columns import Column

#: elements that show content other than pages
MEDIA = ("img", "source", "video", "audio", "track", "embed", "object", "image")

#: the types of links, by their elements, with words for each
LINK_TYPES = {
    "page": ("Links", ("a", "area")),
    "image": ("Images", ("img", "image")),
    "media": ("Sound and film", ("video", "audio", "source", "track")),
    "frame": ("Frames and embedded", ("iframe", "frame", "embed", "object")),
    "style": ("Styles and relations", ("link",)),
    "script": ("Scripts", ("script",)),
    "form": ("Forms", ("form", "button", "input")),
}
#: the types that the list of media has
MEDIA_TYPES = ("image", "media", "frame")
#: the most distinct targets that fit in memory
MOST_COUNTED_LINKS = 2_500_000
LINKS = """
SELECT page_id, position, page, fragment, element, attribute, rel, anchor, place, target FROM links
WHERE {conditions} ORDER BY {order} LIMIT $most
"""
#: the expressions by which links are sorted, and their places in LINKS
LINK_COLUMNS: Mapping[str, str] = {
    LinkSort.PAGE: "page",
    LinkSort.TARGET: "target",
    LinkSort.TEXT: "anchor",
}
PLACES = {"page": 2, "anchor": 7, "target": 9}
#: the fingerprint is compared first, since it is a number and leaves few rows
CONDITIONS = {
    "page": "page = $page",
    "target": "target_fingerprint = $fingerprint AND target = $target",
    "host": "target_host = $host",
}
#: the last condition; it is not written as a pair, which would take longer than all others together
BEHIND = "page_id >= $page_id AND (page_id > $page_id OR position > $position)"
MEDIA_COLUMNS: Mapping[str, str] = {
    MediaSort.ADDRESS: "target",
    MediaSort.PAGES: "count(DISTINCT page_id)",
    MediaSort.WITHOUT_TEXT: "count(*) FILTER (element IN ('img', 'area', 'input') AND anchor = '')",
}
#: the place of each sort value in MEDIA_OF_RUN
MEDIA_PLACES = {MediaSort.PAGES: 3, MediaSort.WITHOUT_TEXT: 5}
#: only for the targets on one page of the list, since the sets of pages of all targets would not
#: fit in memory
MEDIA_OF_RUN = f"""
WITH shown AS (SELECT target FROM links
    WHERE {{conditions}} GROUP BY target HAVING {{behind}} ORDER BY {{order}} LIMIT $most)
SELECT target, min(element), count(*), count(DISTINCT page_id), coalesce(max(anchor), ''),
    {MEDIA_COLUMNS[MediaSort.WITHOUT_TEXT]}
FROM links WHERE {{conditions}} AND target IN (SELECT target FROM shown)
GROUP BY target ORDER BY {{order}}
"""  # noqa: S608  # expressions of ours
HOST_COLUMNS: Mapping[str, str] = {HostSort.HOST: "target_host", HostSort.LINKS: "count(*)"}
HOSTS = """
SELECT target_host, count(*) FROM links
GROUP BY target_host HAVING {behind} ORDER BY {order} LIMIT $most
"""
#: the targets whose fingerprints have these last bits
TARGETS_OF_HOSTS = """
SELECT target_host, count(DISTINCT target_fingerprint) FROM links
WHERE target_host IN (SELECT unnest($hosts)) AND target_fingerprint & $mask = $bits
GROUP BY target_host
"""


@dataclass(frozen=True)
class LinkFound(LinkSource):
    """A link of a page. Its fields have the order of the columns in LINKS."""

    # the fields have the order of the columns in LINKS

    target: str


@dataclass(frozen=True)
class BrokenTarget:
    id: int
    url: str
    status: int
    meaning: str
    error: str
    links: Annotated[int, Column("how many lead to it")]
    sources: Annotated[
        list[LinkSource], Column("the first twenty; `links?target=` has all of them")
    ]


@dataclass(frozen=True)
class MediaFile:
    """A file that pages show: an image, sound, film or another kind."""

    url: str
    element: str
    links: int
    pages: int
    text: Annotated[str, Column("the text in its place, where a page has one")]
    without_text: Annotated[int, Column("images of it without such a text")]
    status: Annotated[int | None, Column("null: it was not fetched")]
    content_type: str
    bytes: int | None


@dataclass(frozen=True)
class LinkedHost:
    host: str
    links: int
    targets: Annotated[int, Column("URLs of the host that they lead to")]


def list_links(
    run: Run,
    *,
    page: str = "",
    target: str = "",
    host: str = "",
    kind: str = "",
    sort: LinkSort | None = None,
    after: str = "",
    most: int,
) -> tuple[list[LinkFound], str | None]:
    """Links in the order of finding or sorted by a column, and the key after which more follow.

    page: only the links of this page. target: only its back links. host: only links to it. kind:
    only links of this type in LINK_TYPES. Raises BadOrder for an invalid address or key, and
    LinkSearchTookTooLong.
    """
    conditions, values = _wanted_links(page, target, host, kind)
    order = ListOrder.from_sort(sort, LINK_COLUMNS, "page_id", "position") if sort else None
    if after:
        page_id, position, last = _link_key(after, order)
        conditions.append(order.behind("$last", "$page_id", "$position") if order else BEHIND)
        values |= {"page_id": page_id, "position": position} | ({"last": last} if order else {})
    query = LINKS.format(
        conditions=" AND ".join(conditions), order=order.terms if order else "page_id, position"
    )
    rows = query_links(run, query, values | {"most": most + 1})
    found = [LinkFound(*row[2:]) for row in rows[:most]]
    if len(rows) <= most:
        return found, None
    row = rows[most - 1]
    last = f"-{row[PLACES[order.expression]]}" if order else ""
    return found, f"{row[0]}-{row[1]}{last}"


def count_links(
    run: Run, *, page: str = "", target: str = "", host: str = "", kind: str = ""
) -> int:
    """The number of links that `list_links` lists, a BoundedCount if there are very many. Raises
    the same errors.
    """
    conditions, values = _wanted_links(page, target, host, kind)
    return count_rows(run, "*", " AND ".join(conditions), values)


def _link_key(after: str, order: ListOrder | None) -> tuple[int, int, str]:
    """The place after which a list continues. Raises BadOrder."""
    page_id, _, rest = after.partition("-")
    position, _, last = rest.partition("-") if order else (rest, "", "")
    return *key_of(f"{page_id}-{position}"), last


def _wanted_links(page: str, target: str, host: str, kind: str) -> tuple[list[str], dict[str, Any]]:
    """The conditions for a list of links, with their values. Raises BadOrder."""
    asked = {
        "page": canonical_or_empty("page", page),
        "target": canonical_or_empty("target", target),
        "host": host.lower(),
    }
    values: dict[str, Any] = {name: url for name, url in asked.items() if url}
    conditions = [CONDITIONS[name] for name in values]
    if kind:
        conditions.append(_element_condition(LINK_TYPES[kind][1]))
    if "target" in values:
        values["fingerprint"] = fingerprint(asked["target"])
    return conditions or ["true"], values


def _element_condition(elements: tuple[str, ...]) -> str:
    return f"element IN {elements}".replace(",)", ")")


def list_broken(run: Run, *, after: int = 0, most: int) -> tuple[list[BrokenTarget], int | None]:
    """Failed addresses to which links lead, in the order of finding. The list may be shorter than
    `most` although more follow.

    The second value is the id after which more follow.
    """
    failed = failed_urls(run, after, most + 1)
    following, failed = failed[most - 1].pk if len(failed) > most else None, failed[:most]
    found = first_sources(run, [url.url for url in failed])
    return [
        BrokenTarget(
            url.pk, url.url, url.status, status_sentence(url.status), url.error, *found[url.url]
        )
        for url in failed
        if url.url in found
    ], following


def list_media(
    run: Run,
    *,
    kind: str = "",
    sort: MediaSort = MediaSort.ADDRESS,
    after: str = "",
    most: int,
) -> tuple[list[MediaFile], str | None]:
    """Images, sound, film and other media on pages, sorted by address or another column. kind: only
    one of MEDIA_TYPES. Raises TooManyMedia, LinkSearchTookTooLong, and BadOrder for an invalid key.
    """
    shown = _element_condition(_media_elements(kind))
    order = ListOrder.from_sort(sort, MEDIA_COLUMNS, "target")
    if not order.is_by_key:
        [(media,)] = query_links(run, f"SELECT count(*) FROM links WHERE {shown}")  # noqa: S608
        if media > MOST_COUNTED_LINKS:
            raise TooManyMedia
    query = MEDIA_OF_RUN.format(
        conditions=shown, behind=_condition_of_rows_after(order, after), order=order.terms
    )
    rows = query_links(run, query, _key_of(order, after) | {"most": most + 1})
    place = MEDIA_PLACES.get(MediaSort(sort.lstrip("-")))
    following, rows = _next_key(rows, place, most), rows[:most]
    urls = [row[0] for row in rows]
    fetched = {
        url.url: url
        for url in Url.objects.filter(
            run=run, fingerprint__in=[fingerprint(url) for url in urls], url__in=urls
        ).select_related("page")
    }
    return [_media_file(row, fetched.get(row[0])) for row in rows], following


def count_media(run: Run, *, kind: str = "") -> int:
    return count_rows(run, "target", _element_condition(_media_elements(kind)), {})


def _media_elements(kind: str) -> tuple[str, ...]:
    return tuple(one for one in MEDIA if not kind or one in LINK_TYPES[kind][1])


def _condition_of_rows_after(order: ListOrder, after: str) -> str:
    return order.behind("$after" if order.is_by_key else "$number", "$after") if after else "true"


def _key_of(order: ListOrder, after: str) -> dict[str, Any]:
    """The values for `_condition_of_rows_after`. Raises BadOrder."""
    if not after:
        return {}
    if order.is_by_key:
        return {"after": after}
    number, key = read_sort_key(after)
    return {"number": number, "after": key}


def _next_key(rows: list[tuple[Any, ...]], place: int | None, most: int) -> str | None:
    """The key of the last row shown, if there are more rows: the first column, behind the number by
    which rows are sorted.
    """
    if len(rows) <= most:
        return None
    row = rows[most - 1]
    return row[0] if place is None else f"{row[place]}-{row[0]}"


def _media_file(row: tuple[str, str, int, int, str, int], url: Url | None) -> MediaFile:
    page = getattr(url, "page", None)
    return MediaFile(
        *row,
        url.status if url else None,
        page.content_type if page else "",
        page.bytes if page else None,
    )


def list_hosts(
    run: Run, *, sort: HostSort = HostSort.HOST, after: str = "", most: int
) -> tuple[list[LinkedHost], str | None]:
    """Hosts to which links lead, sorted by name or by number of links. Raises
    LinkSearchTookTooLong, and BadOrder for an invalid key.
    """
    order = ListOrder.from_sort(sort, HOST_COLUMNS, "target_host")
    query = HOSTS.format(behind=_condition_of_rows_after(order, after), order=order.terms)
    found = query_links(run, query, _key_of(order, after) | {"most": most + 1})
    following, found = _next_key(found, None if order.is_by_key else 1, most), found[:most]
    hosts, targets = [host for host, _ in found], Counter[str]()
    passes = 1 << (sum(links for _, links in found) // MOST_COUNTED_LINKS).bit_length()
    for bits in range(passes) if hosts else ():
        values = {"hosts": hosts, "mask": passes - 1, "bits": bits}
        targets.update(dict(query_links(run, TARGETS_OF_HOSTS, values)))
    return [LinkedHost(host, links, targets[host]) for host, links in found], following


def count_hosts(run: Run) -> int:
    return count_rows(run, "target_host", "true", {})
