"""What the links dataset says, together with what became of the addresses.

Each list goes on behind a key, so that none reads more than a page of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from crawling.errors import BadOrder
from crawling.links.query import ask
from crawling.models import Run, Url, UrlState
from crawling.web.addresses import BadUrl, fingerprint, read_address, signed
from crawling.web.statuses import explain

#: of a broken address, those that its row names; `list_links` has all
MOST_SOURCES = 20
#: elements that show what is no page
MEDIA = ("img", "source", "video", "audio", "track", "embed", "object", "image")

LINKS = """
SELECT page_id, position, page, target, fragment, element, attribute, rel, anchor, place FROM links
WHERE (page_id, position) > ($page_id, $position)
    AND ($page = '' OR page = $page) AND ($target = '' OR target = $target)
ORDER BY page_id, position LIMIT $most
"""
SOURCES = """
SELECT target, links, page, fragment, element, attribute, rel, anchor, place FROM (
    SELECT *, count(*) OVER (PARTITION BY target) AS links,
        row_number() OVER (PARTITION BY target ORDER BY page_id, position) AS number
    FROM links WHERE target IN (SELECT unnest($targets))
) WHERE number <= $sources ORDER BY target, number
"""
MEDIA_OF_RUN = """
SELECT target, min(element), count(*), count(DISTINCT page_id), coalesce(max(anchor), ''),
    count(*) FILTER (element IN ('img', 'area', 'input') AND anchor = '')
FROM links WHERE element IN (SELECT unnest($elements)) AND target > $after
GROUP BY target ORDER BY target LIMIT $most
"""
HOSTS = """
SELECT split_part(split_part(target, '://', 2), '/', 1) AS host, sum(links)::BIGINT, count(*)
FROM (SELECT target, count(*) AS links FROM links GROUP BY target)
GROUP BY host HAVING host > $after ORDER BY host LIMIT $most
"""


@dataclass(frozen=True)
class LinkSource:
    """Where a link is."""

    page: str
    fragment: str
    element: str
    attribute: str
    rel: str
    anchor: str
    place: str


@dataclass(frozen=True)
class LinkFound:
    """A link, in the order of the columns of LINKS."""

    page: str
    target: str
    fragment: str
    element: str
    attribute: str
    rel: str
    anchor: str
    place: str


@dataclass(frozen=True)
class BrokenTarget:
    """An address that links lead to and that could not be fetched."""

    id: int
    url: str
    status: int
    meaning: str
    error: str
    #: how many lead to it
    links: int
    sources: Sequence[LinkSource] = field(default_factory=tuple)


@dataclass(frozen=True)
class MediaFile:
    """What pages show by an element of MEDIA."""

    #: None: it was not fetched
    status: int | None
    content_type: str
    bytes: int | None
    url: str
    element: str
    links: int
    pages: int
    text: str
    #: images without a text in their place
    without_text: int


@dataclass(frozen=True)
class LinkedHost:
    host: str
    links: int
    targets: int


def list_links(
    run: Run, *, page: str = "", target: str = "", after: str = "", most: int
) -> tuple[list[LinkFound], str | None]:
    """Links in the order of finding, and the key behind which more follow.

    page: only its references; target: only its back links. Raises BadOrder for what is no address
    or no key.
    """
    page_id, position = _key(after)
    values = {"page": _canonical("page", page), "target": _canonical("target", target)}
    rows = ask(run, LINKS, {**values, "page_id": page_id, "position": position, "most": most + 1})
    found = [LinkFound(*row[2:]) for row in rows[:most]]
    return found, f"{rows[most - 1][0]}-{rows[most - 1][1]}" if len(rows) > most else None


def _key(after: str) -> tuple[int, int]:
    try:
        page_id, position = map(int, after.split("-")) if after else (-1, -1)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
    return page_id, position


def _canonical(name: str, text: str) -> str:
    try:
        return read_address(text.partition("#")[0]).url if text else ""
    except BadUrl as error:
        raise BadOrder({name: f"It is no whole URL: {error}."}) from error


def list_broken(run: Run, *, after: int = 0, most: int) -> tuple[list[BrokenTarget], int | None]:
    """Failed addresses to which links lead, in the order of finding; a page of them may be short.

    The second is the id behind which more follow.
    """
    failed = list(
        Url.objects.filter(run=run, state=UrlState.FAILED, pk__gt=after).order_by("pk")[: most + 1]
    )
    following, failed = failed[most - 1].pk if len(failed) > most else None, failed[:most]
    sources: dict[str, list[LinkSource]] = {}
    counts: dict[str, int] = {}
    targets = [url.url for url in failed]
    values = {"targets": targets, "sources": MOST_SOURCES}
    for target, links, *source in ask(run, SOURCES, values) if targets else ():
        counts[target] = links
        sources.setdefault(target, []).append(LinkSource(*source))
    return [
        BrokenTarget(
            url.pk,
            url.url,
            url.status or 0,
            explain(url.status or 0),
            url.error,
            counts[url.url],
            sources[url.url],
        )
        for url in failed
        if url.url in counts
    ], following


def each_broken(run: Run) -> Iterator[dict[str, Any]]:
    """All sources of all broken addresses, a row each."""
    after: int | None = 0
    while after is not None:
        broken, after = list_broken(run, after=after, most=200)
        for one in broken:
            facts = {"url": one.url, "status": one.status, "meaning": one.meaning}
            next_key: str | None = ""
            while next_key is not None:
                found, next_key = list_links(run, target=one.url, after=next_key, most=1000)
                for link in found:
                    yield {**facts, **{name: getattr(link, name) for name in SOURCE_COLUMNS}}


SOURCE_COLUMNS = tuple(LinkSource.__dataclass_fields__)


def list_media(run: Run, *, after: str = "", most: int) -> tuple[list[MediaFile], str | None]:
    """Images, sound, film and what else pages show, by address."""
    rows = ask(run, MEDIA_OF_RUN, {"elements": list(MEDIA), "after": after, "most": most + 1})
    following, rows = rows[most - 1][0] if len(rows) > most else None, rows[:most]
    urls = [row[0] for row in rows]
    fetched = {
        url.url: url
        for url in Url.objects.filter(
            run=run, fingerprint__in=[signed(fingerprint(url)) for url in urls], url__in=urls
        ).select_related("page")
    }
    return [_media(row, fetched.get(row[0])) for row in rows], following


def _media(row: tuple[Any, ...], url: Url | None) -> MediaFile:
    page = getattr(url, "page", None)
    return MediaFile(
        url.status if url else None,
        page.content_type if page else "",
        page.bytes if page else None,
        *row,
    )


def list_hosts(run: Run, *, after: str = "", most: int) -> tuple[list[LinkedHost], str | None]:
    """Hosts that links lead to, by name."""
    rows = ask(run, HOSTS, {"after": after, "most": most + 1})
    following = rows[most - 1][0] if len(rows) > most else None
    return [LinkedHost(*row) for row in rows[:most]], following
