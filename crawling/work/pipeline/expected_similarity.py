"""The similarity to the crawl's topic that is expected of each link's target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crawling.frontier import Candidate, ClaimedUrl
from crawling.web.addresses import Address
from crawling.web.documents.base import Document
from crawling.web.documents.written_links import links_in
from crawling.web.topics import Topic, expected


def with_similarity(
    links: Sequence[Candidate],
    topic: Topic,
    claimed: ClaimedUrl,
    address: Address,
    document: Document,
) -> list[Candidate]:
    """The links of a page, each with its target's expected similarity.

    Where a redirect leads is expected to be as similar as the URL itself.
    """
    foreseen = min(1.0, max(0.0, -claimed.rank))
    if not any(link.redirects == 0 for link in links):
        return [replace(link, similarity=foreseen) for link in links]
    language = document.metadata.language
    page = topic.of_text(f"{document.title}\n{document.text}", language)
    anchors = _anchors(address, document)
    return [
        replace(
            link,
            similarity=foreseen
            if link.redirects
            else expected(
                page,
                foreseen,
                topic.of_link(anchors.get(link.address.url, ""), link.address.url, language),
            ),
        )
        for link in links
    ]


def _anchors(address: Address, document: Document) -> dict[str, str]:
    """The texts of the links to each target, one behind the other."""
    texts: dict[str, dict[str, None]] = {}
    for link in links_in(
        document.written, address.url, base=document.base, charset=document.charset
    ):
        if link.anchor:
            texts.setdefault(link.target, {})[link.anchor] = None
    return {target: " ".join(anchors) for target, anchors in texts.items()}
