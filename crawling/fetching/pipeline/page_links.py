"""The links of a page, as the crawl's rules judge them: the links of its document and of its
answer's head, and the sitemaps of its site. Each has the expected similarity of its target to the
crawl's topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from urllib3 import HTTPHeaderDict

from crawling.fetching.pipeline.context import FetchContext, LinkJudge
from crawling.frontier import Candidate, ClaimedUrl
from crawling.frontier.types import PageTargetMarks, Refusal
from crawling.orders.scope.filters import Ruling
from crawling.orders.scope.trap_patterns import directories_above
from crawling.web.addresses import Address, fingerprint, may_link_to_scheme
from crawling.web.content.link_fields import has_nofollow, links_in_head
from crawling.web.documents.base import Document, TruncationReason
from crawling.web.documents.html import (
    NOT_VOUCHED,
    PAGE_RELATIONS,
    SHOWN_RELATIONS,
    refresh_target,
)
from crawling.web.documents.written_links import resolved_links
from crawling.web.fetch.http import Fetched
from crawling.web.links import Links, faults_with_counts
from crawling.web.statuses import is_success
from crawling.web.topics import Topic, expected_similarity

#: the most other hosts on which a robots.txt may name sitemaps
MOST_OTHER_HOSTS = 10
COPY = Document(unread=TruncationReason.COPY)


def links_of(
    claimed: ClaimedUrl,
    address: Address,
    document: Document,
    sitemaps: Sequence[str],
    target: Address | None,
    judge: LinkJudge,
) -> tuple[list[Candidate], list[Refusal]]:
    """The links of a page for the frontier, and the links that the rules exclude.

    The links of a sitemap are as deep as the sitemap. The links of a document that was named as a
    sitemap, but is none, count only if the rules let it in as a page.
    """
    is_map = claimed.nesting > 0
    gate = _Gate(claimed, judge)
    written = _links_allowed_in(document.links, claimed.url.partition(":")[0])
    if is_map and document.written and not judge.filters.judge(address, depth=claimed.depth).admits:
        written = []
    depth = claimed.depth if is_map and not document.written else claimed.depth + 1
    is_ours = (
        claimed.hops == 0 and bool(sitemaps) and judge.filters.scope.may_reach_host_of(address)
    )
    links = gate.sitemaps(_allowed_sitemaps(address, sitemaps), depth) if is_ours else []
    if document.is_index:
        links += gate.sitemaps(_sitemaps_within(written, address, judge), depth)
    named = {candidate.address.url for candidate in links}
    links += gate.candidates(
        [link for link in written if link.url not in named] if named else written,
        depth,
        counts_all=judge.counts_links,
    )
    if judge.ascends and not is_map and not judge.filters.wants_head_only(claimed.hops):
        links += [
            replace(candidate, is_link=False)
            for candidate in gate.candidates(directories_above(address), depth, are_links=False)
        ]
    if target and (candidate := gate.redirected(target)):
        links.append(candidate)
    if judge.topic:
        links = with_similarity(links, judge.topic, claimed, address, document)
    return links, gate.refusals


def _links_allowed_in(links: Sequence[Address], scheme: str) -> Sequence[Address]:
    """The links that a document of this scheme may have, which are nearly always all of its
    links.
    """
    if all(may_link_to_scheme(scheme, other) for other in {link.scheme for link in links}):
        return links
    return [link for link in links if may_link_to_scheme(scheme, link.scheme)]


def targets_of(
    claimed: ClaimedUrl,
    address: Address,
    document: Document,
    target: Address | None,
    judge: LinkJudge,
) -> PageTargetMarks | None:
    """The page's targets; None if no limit on depth depends on them, or if the page is a sitemap,
    which has no depth of its own.
    """
    if judge.filters.scope.max_depth is None or claimed.nesting:
        return None
    links = {link.url for link in document.links}
    if judge.ascends:
        links.update(above.url for above in directories_above(address))
    marks = [fingerprint(url) for url in links]
    redirect = fingerprint(target.url) if target else None
    return PageTargetMarks(claimed.depth, marks, redirect) if marks or target else None


def _sitemaps_within(maps: Iterable[Address], address: Address, judge: LinkJudge) -> list[Address]:
    """The sitemaps of an index that lie on its own host (sitemaps.org), or on a host of the crawl's
    sites. Sitemaps elsewhere are ordinary links, since an index could otherwise send the crawl
    anywhere.
    """
    scope = judge.filters.scope
    return [
        found for found in maps if found.host_key == address.host_key or scope.has_host_of(found)
    ]


class _Gate:
    """Judges each link of a page by the rules, and collects the refusals."""

    def __init__(self, claimed: ClaimedUrl, judge: LinkJudge) -> None:
        self._claimed, self._judge = claimed, judge
        self.refusals: list[Refusal] = []

    def candidates(
        self,
        links: Iterable[Address],
        depth: int,
        *,
        counts_all: bool = False,
        are_links: bool = True,
    ) -> list[Candidate]:
        """The links of a page for the frontier. `counts_all`: include links to known URLs.
        `are_links`: count them as links to their targets.

        Links of this shift's earlier pages are not judged again, since most links of most pages
        were seen before.
        """
        news = (
            links
            if counts_all
            else self._judge.seen.unseen_addresses(links, depth, are_links=are_links)
        )
        admitted = {
            link: ruling.hops
            for link in news
            if (ruling := self.judge(link, depth=depth, hops=self._claimed.hops))
        }
        self._judge.seen.remember(admitted, depth)
        made = (
            _candidate(link, depth, hops, self._claimed, self._judge)
            for link, hops in admitted.items()
        )
        return [candidate for candidate in made if candidate]

    def sitemaps(self, maps: Iterable[Address], depth: int) -> list[Candidate]:
        """The candidates that are named as sitemaps. No rule for pages excludes them, if their
        links may be fetched at that depth.
        """
        claimed = self._claimed
        scheme = claimed.url.partition(":")[0]
        nesting = max(claimed.nesting, int(claimed.depth == 0)) + 1
        news = self._judge.seen.unseen_addresses(maps, depth, are_links=False)
        admitted = [
            link
            for link in news
            if may_link_to_scheme(scheme, link.scheme)
            and self.judge(link, depth=depth, hops=claimed.hops, is_map=True)
        ]
        self._judge.seen.remember(admitted, depth)
        return [
            Candidate(link, depth, claimed.id, is_link=False, nesting=nesting) for link in admitted
        ]

    def redirected(self, target: Address) -> Candidate | None:
        """The redirect's target, if the rules let it in.

        The target is as deep as the URL itself, and the target of a seed is a seed: `example.org`
        may redirect to `www`.
        """
        claimed = self._claimed
        ruling = self.judge(
            target,
            depth=claimed.depth,
            hops=max(0, claimed.hops - 1),
            is_seed=claimed.depth == 0,
            is_map=claimed.nesting > 0,
        )
        return ruling and Candidate(
            target,
            claimed.depth,
            claimed.id,
            claimed.redirects + 1,
            hops=ruling.hops,
            nesting=claimed.nesting,
        )

    def judge(
        self,
        link: Address,
        *,
        depth: int,
        hops: int,
        is_seed: bool = False,
        is_map: bool = False,
    ) -> Ruling | None:
        """The ruling that lets a link in; None if the link stays out."""
        if not is_seed and not is_map and self._judge.refusals.count_repeat(link.url):
            return None
        ruling = self._judge.filters.judge(
            link, depth=depth, hops=hops, is_seed=is_seed, is_map=is_map
        )
        if ruling.admits:
            return ruling
        refusal = self._judge.refusals.first_refusal(
            link,
            ruling,
            depth=depth,
            hops=hops,
            via=self._claimed.id,
            is_final=self._judge.filters.is_final(ruling),
        )
        self.refusals += [refusal] if refusal else []
        return None


def _candidate(
    link: Address, depth: int, hops: int, claimed: ClaimedUrl, judge: LinkJudge
) -> Candidate | None:
    judged = judge.traps.judge(link)
    if judged.is_banned:
        return None
    return Candidate(
        link,
        depth,
        claimed.id,
        pattern=judged.pattern.key if judged.pattern else None,
        trap=judged.trap,
        hops=hops,
    )


def with_head(
    document: Document,
    claimed: ClaimedUrl,
    address: Address,
    fetched: Fetched,
    context: FetchContext,
) -> Document:
    """The document with the links of the head of its answer. Without any links, if the head forbids
    following them.
    """
    reading, headers = context.links.reading, fetched.headers
    tags = _fields(headers, "X-Robots-Tag") if reading.obey_nofollow and not claimed.nesting else ()
    if tags and has_nofollow(tags, context.robots.token):
        return replace(document, links=[])
    refresh = refresh_target(headers.get("Refresh", ""))
    if document is COPY or not (refresh or "Link" in headers) or not is_success(fetched.status):
        return document
    wanted = PAGE_RELATIONS | (SHOWN_RELATIONS if reading.requisites else frozenset())
    links = Links(address.url, charset="UTF-8")
    for link in links_in_head(_fields(headers, "Link")):
        if link.relations & wanted and not (reading.obey_nofollow and link.relations & NOT_VOUCHED):
            links.add(link.target)
    if refresh:
        links.add(refresh)
    there = {link.url for link in document.links}
    news = [link for link in links.found if link.url not in there]
    unread = document.unread or links.left_out
    return (
        replace(document, links=[*document.links, *news], unread=unread)
        if (news or unread is not document.unread)
        else document
    )


def _fields(headers: Mapping[str, str], name: str) -> list[str]:
    """The values of all header fields of this name. An answer from a record has them joined into
    one.
    """
    if isinstance(headers, HTTPHeaderDict):
        return headers.getlist(name)
    return [headers[name]] if name in headers else []


def bad_maps(address: Address, sitemaps: Sequence[str]) -> list[str]:
    """The mistakes in the sitemaps that the robots.txt of a page's site names, in sentences."""
    return list(faults_with_counts(sitemaps, Links(f"{address.origin}/robots.txt").fault_of))


def _allowed_sitemaps(address: Address, sitemaps: Sequence[str]) -> list[Address]:
    """The sitemaps that a robots.txt names (sitemaps.org, *Submitting your Sitemap*): the sitemaps
    on its own host and on some others, which may also list its pages.
    """
    if not sitemaps:
        return []
    maps = Links(f"{address.origin}/robots.txt")
    for sitemap in sitemaps:
        maps.add(sitemap)
    others = dict.fromkeys(found.host_key for found in maps.found)
    others.pop(address.host_key, None)
    near = {address.host_key, *list(others)[:MOST_OTHER_HOSTS]}
    return [found for found in maps.found if found.host_key in near]


def with_similarity(
    links: Sequence[Candidate],
    topic: Topic,
    claimed: ClaimedUrl,
    address: Address,
    document: Document,
) -> list[Candidate]:
    """The links of a page, each with the expected similarity of its target.

    The target of a redirect is expected to be as similar as the redirecting URL.
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
            else expected_similarity(
                page,
                foreseen,
                topic.of_link(anchors.get(link.address.url, ""), link.address.url, language),
            ),
        )
        for link in links
    ]


def _anchors(address: Address, document: Document) -> dict[str, str]:
    """For each target of a link, the joined texts of its links."""
    texts: dict[str, dict[str, None]] = {}
    for link in resolved_links(
        document.written, address.url, base=document.base, charset=document.charset
    ):
        if link.anchor:
            texts.setdefault(link.target, {})[link.anchor] = None
    return {target: " ".join(anchors) for target, anchors in texts.items()}
