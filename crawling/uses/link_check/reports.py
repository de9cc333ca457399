"""Reports on the links dataset, together with the results of the addresses.

Each list is read a page at a time, behind a key.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

from crawling.dashboard.base.api_parameters import canonical_or_empty, key_of
from crawling.datasets.query import ask
from crawling.models import Run, Url
from crawling.uses.link_check.dataset_problems import failed_urls
from crawling.uses.link_check.link_sources import LinkSource, first_sources
from crawling.web.addresses import fingerprint
from crawling.web.statuses import explain
from serving.listing.columns import Column

#: elements that show what is no page
MEDIA = ("img", "source", "video", "audio", "track", "embed", "object", "image")

#: what links are by the elements that have them, with words for each
LINK_TYPES = {
    "page": ("Links", ("a", "area")),
    "image": ("Images", ("img", "image")),
    "media": ("Sound and film", ("video", "audio", "source", "track")),
    "frame": ("Frames and embedded", ("iframe", "frame", "embed", "object")),
    "style": ("Styles and relations", ("link",)),
    "script": ("Scripts", ("script",)),
    "form": ("Forms", ("form", "button", "input")),
}
#: those that the list of media has
MEDIA_TYPES = ("image", "media", "frame")
#: as many targets as memory has room for
MOST_COUNTED_LINKS = 2_500_000
LINKS = """
SELECT page_id, position, page, fragment, element, attribute, rel, anchor, place, target FROM links
WHERE {conditions} ORDER BY page_id, position LIMIT $most
"""
#: the fingerprint is compared first: it is a number, and few rows are left
CONDITIONS = {
    "page": "page = $page",
    "target": "target_fingerprint = $fingerprint AND target = $target",
    "host": "target_host = $host",
}
#: last, and not as a pair, which would take longer than the others together
BEHIND = "page_id >= $page_id AND (page_id > $page_id OR position > $position)"
#: only of the targets of one page of the list: sets of pages of all would not fit in memory
MEDIA_OF_RUN = """
WITH shown AS (SELECT target FROM links
    WHERE element IN {elements} AND target > $after
    GROUP BY target ORDER BY target LIMIT $most)
SELECT target, min(element), count(*), count(DISTINCT page_id), coalesce(max(anchor), ''),
    count(*) FILTER (element IN ('img', 'area', 'input') AND anchor = '')
FROM links WHERE element IN {elements} AND target IN (SELECT target FROM shown)
GROUP BY target ORDER BY target
"""
HOSTS = """
SELECT target_host, count(*) FROM links WHERE target_host > $after
GROUP BY target_host ORDER BY target_host LIMIT $most
"""
#: the targets whose fingerprints have these last bits
TARGETS_OF_HOSTS = """
SELECT target_host, count(DISTINCT target_fingerprint) FROM links
WHERE target_host BETWEEN $first AND $last AND target_fingerprint & $mask = $bits
GROUP BY target_host
"""


@dataclass(frozen=True)
class LinkFound(LinkSource):
    """A link of a page."""

    # as all fields in the order of the columns of LINKS

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
    """A file that pages show: an image, sound, film or another."""

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
    after: str = "",
    most: int,
) -> tuple[list[LinkFound], str | None]:
    """Links in the order of finding, and the key behind which more follow.

    page: only its references; target: only its back links; host: only links to it; kind: only those
    of LINK_TYPES. Raises BadOrder for what is no address or no key.
    """
    page_id, position = key_of(after)
    asked = {
        "page": canonical_or_empty("page", page),
        "target": canonical_or_empty("target", target),
        "host": host.lower(),
    }
    values: dict[str, Any] = {name: url for name, url in asked.items() if url}
    conditions = [CONDITIONS[name] for name in values]
    if kind:
        conditions.append(f"element IN {LINK_TYPES[kind][1]}".replace(",)", ")"))
    if "target" in values:
        values["fingerprint"] = fingerprint(asked["target"])
    if after:
        conditions.append(BEHIND)
        values |= {"page_id": page_id, "position": position}
    query = LINKS.format(conditions=" AND ".join(conditions or ["true"]))
    rows = ask(run, query, values | {"most": most + 1})
    found = [LinkFound(*row[2:]) for row in rows[:most]]
    return found, f"{rows[most - 1][0]}-{rows[most - 1][1]}" if len(rows) > most else None


def list_broken(run: Run, *, after: int = 0, most: int) -> tuple[list[BrokenTarget], int | None]:
    """Failed addresses to which links lead, in the order of finding; a page of them may be short.

    The second is the id behind which more follow.
    """
    failed = failed_urls(run, after, most + 1)
    following, failed = failed[most - 1].pk if len(failed) > most else None, failed[:most]
    found = first_sources(run, [url.url for url in failed])
    return [
        BrokenTarget(url.pk, url.url, url.status, explain(url.status), url.error, *found[url.url])
        for url in failed
        if url.url in found
    ], following


def list_media(
    run: Run, *, kind: str = "", after: str = "", most: int
) -> tuple[list[MediaFile], str | None]:
    """Images, sound, film and what else pages show, by address; kind: only those of MEDIA_TYPES."""
    elements = tuple(one for one in MEDIA if not kind or one in LINK_TYPES[kind][1])
    rows = ask(run, MEDIA_OF_RUN.format(elements=elements), {"after": after, "most": most + 1})
    following, rows = rows[most - 1][0] if len(rows) > most else None, rows[:most]
    urls = [row[0] for row in rows]
    fetched = {
        url.url: url
        for url in Url.objects.filter(
            run=run, fingerprint__in=[fingerprint(url) for url in urls], url__in=urls
        ).select_related("page")
    }
    return [_media(row, fetched.get(row[0])) for row in rows], following


def _media(row: tuple[str, str, int, int, str, int], url: Url | None) -> MediaFile:
    page = getattr(url, "page", None)
    return MediaFile(
        *row,
        url.status if url else None,
        page.content_type if page else "",
        page.bytes if page else None,
    )


def list_hosts(run: Run, *, after: str = "", most: int) -> tuple[list[LinkedHost], str | None]:
    """Hosts that links lead to, by name."""
    found = ask(run, HOSTS, {"after": after, "most": most + 1})
    following, found = found[most - 1][0] if len(found) > most else None, found[:most]
    hosts, targets = [host for host, _ in found], Counter[str]()
    passes = 1 << (sum(links for _, links in found) // MOST_COUNTED_LINKS).bit_length()
    for bits in range(passes) if hosts else ():
        values = {"first": hosts[0], "last": hosts[-1], "mask": passes - 1, "bits": bits}
        targets.update(dict(ask(run, TARGETS_OF_HOSTS, values)))
    return [LinkedHost(host, links, targets[host]) for host, links in found], following
