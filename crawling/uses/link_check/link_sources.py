"""The places of the links to an address: the page, the element and the text of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from crawling.datasets.query import query_links, stream_query_rows
from crawling.models import Run
from crawling.web.addresses import fingerprint
from serving.listing.columns import Column

#: the number of links to an address that its row shows; `list_links` has all of them
MOST_SOURCES = 20
FIRST = """count(*), arg_min({{'page': page,
    'fragment': fragment, 'element': element, 'attribute': attribute, 'rel': rel, 'anchor': anchor,
    'place': place}}, (page_id, position), $sources)"""
#: joined by fingerprint alone, since reading the targets would take as long as all the rest
SOURCES = f"""
SELECT target_fingerprint, {{fragment}} AS named, {FIRST}
FROM links WHERE target_fingerprint IN (SELECT unnest($fingerprints)) AND {{condition}}
GROUP BY target_fingerprint, named
"""  # noqa: S608  # constants
SOURCES_OF_HOSTS = f"""
SELECT target_host, {FIRST}
FROM links WHERE target_host IN (SELECT unnest($hosts)) AND {{condition}} GROUP BY target_host
"""  # noqa: S608  # constants
#: joined by fingerprint alone, as above
COUNTS = """
SELECT target_fingerprint, {fragment} AS named, count(*)
FROM links WHERE target_fingerprint IN (SELECT unnest($fingerprints)) AND {condition}
GROUP BY target_fingerprint, named
"""
COUNTS_OF_HOSTS = """
SELECT target_host, count(*)
FROM links WHERE target_host IN (SELECT unnest($hosts)) AND {condition} GROUP BY target_host
"""
LINKS_OF = """
SELECT wanted.number, page, fragment, element, attribute, rel, anchor, place FROM links
JOIN wanted ON """
LINKS_TO = f"""{LINKS_OF}wanted.fingerprint = target_fingerprint AND wanted.url = target
    AND (wanted.named = '' OR wanted.named = fragment)
WHERE {{condition}}
"""
LINKS_TO_HOSTS = f"{LINKS_OF}wanted.host = target_host WHERE {{condition}}"
#: every link
ANY = "true"


@dataclass(frozen=True)
class LinkSource:
    page: Annotated[str, Column("the URL of the page that has the link")]
    fragment: str
    element: Annotated[str, Column("empty: the page is no HTML, or a redirect")]
    attribute: Annotated[str, Column("`location`: it is a redirect")]
    rel: str
    anchor: Annotated[str, Column("its text, or the text in place of an image")]
    place: Annotated[str, Column("nav, header, footer, aside, main or article; or empty")]


def first_sources(
    run: Run, urls: Sequence[str], condition: str = ANY
) -> dict[str, tuple[int, list[LinkSource]]]:
    """For each address with links, their number and the first MOST_SOURCES of them. If an address
    has a fragment, only links with this fragment count.

    condition: on links; contains no input of users.
    """
    if not urls:
        return {}
    pages = {fingerprint(page): page for page in (url.partition("#")[0] for url in urls)}
    fragment = "fragment" if any("#" in url for url in urls) else "''"
    values = {"fingerprints": list(pages), "sources": MOST_SOURCES}
    rows = query_links(run, SOURCES.format(condition=condition, fragment=fragment), values)
    return {
        f"{pages[known]}#{named}" if named else pages[known]: (
            links,
            [LinkSource(**one) for one in sources],
        )
        for known, named, links, sources in rows
    }


def link_counts(run: Run, urls: Sequence[str], condition: str) -> dict[str, int]:
    """For each address with links, their number, as `first_sources` counts them."""
    pages = {fingerprint(page): page for page in (url.partition("#")[0] for url in urls)}
    fragment = "fragment" if any("#" in url for url in urls) else "''"
    query = COUNTS.format(condition=condition, fragment=fragment)
    rows = query_links(run, query, {"fingerprints": list(pages)}) if urls else []
    return {
        f"{pages[known]}#{named}" if named else pages[known]: links for known, named, links in rows
    }


def link_counts_of_hosts(run: Run, urls: Sequence[str], condition: str) -> dict[str, int]:
    """For each host of these URLs, the number of links to any of its addresses."""
    hosts = {target_host_of(url): url for url in urls}
    query = COUNTS_OF_HOSTS.format(condition=condition)
    rows = query_links(run, query, {"hosts": list(hosts)}) if hosts else []
    return {hosts[host]: links for host, links in rows}


def stream_sources(
    run: Run, urls: Sequence[str], condition: str = ANY
) -> Iterator[tuple[int, LinkSource]]:
    """All links to these addresses, in the order of the parts: the position of the address in
    `urls`, and the link. If an address has a fragment, only links with this fragment count.
    """
    split = [url.partition("#") for url in urls]
    wanted: dict[str, Any] = {
        "number": np.arange(len(urls)),
        "url": np.array([page for page, *_ in split], dtype=object),
        "named": np.array([fragment for *_, fragment in split], dtype=object),
        "fingerprint": np.array([fingerprint(page) for page, *_ in split], dtype=np.int64),
    }
    if urls:
        for number, *source in stream_query_rows(run, LINKS_TO.format(condition=condition), wanted):
            yield number, LinkSource(*source)


def first_sources_of_hosts(
    run: Run, urls: Sequence[str], condition: str
) -> dict[str, tuple[int, list[LinkSource]]]:
    """For each host of these URLs, the number of links to any of its addresses, and the first of
    them.
    """
    hosts = {target_host_of(url): url for url in urls}
    values = {"hosts": list(hosts), "sources": MOST_SOURCES}
    rows = query_links(run, SOURCES_OF_HOSTS.format(condition=condition), values) if hosts else []
    return {
        hosts[host]: (links, [LinkSource(**one) for one in sources])
        for host, links, sources in rows
    }


def stream_sources_of_hosts(
    run: Run, urls: Sequence[str], condition: str
) -> Iterator[tuple[int, LinkSource]]:
    """All links to any address of the hosts of these URLs: the position of the URL in `urls`, and
    the link.
    """
    wanted: dict[str, Any] = {
        "number": np.arange(len(urls)),
        "host": np.array([target_host_of(url) for url in urls], dtype=object),
    }
    if urls:
        for number, *source in stream_query_rows(
            run, LINKS_TO_HOSTS.format(condition=condition), wanted
        ):
            yield number, LinkSource(*source)


def target_host_of(url: str) -> str:
    """The host of a URL, in the form of the column `target_host`."""
    return url.partition("://")[2].partition("/")[0]
