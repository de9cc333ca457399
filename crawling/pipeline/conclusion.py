"""Extract and conclude: the answer, its links, and the outcome of the URL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from urllib3 import HTTPHeaderDict
from xxhash import xxh3_64

from crawling.frontier.leases import ClaimedUrl
from crawling.frontier.types import (
    Candidate,
    CapturedExchange,
    DocumentSummary,
    PageLinks,
    PageTargetMarks,
    Refusal,
    ServerAnswer,
    UrlOutcome,
)
from crawling.models import UrlState
from crawling.pipeline.context import FetchContext, LinkJudge
from crawling.pipeline.expected_similarity import with_similarity
from crawling.scope.filters import Ruling
from crawling.scope.trap_patterns import Pattern, directories_above, pattern_with
from crawling.web.addresses import Address, BadUrl, fingerprint, may_lead, read_address, signed
from crawling.web.answer_fields import asks_not_to_follow, links_in_head
from crawling.web.documents.base import Document, DocumentSource, TruncationReason, one_line
from crawling.web.documents.html import NOT_VOUCHED, PAGE_RELATIONS, SHOWN_RELATIONS
from crawling.web.documents.registry import read_document
from crawling.web.documents.written_links import collected
from crawling.web.fetch.http import Fetched
from crawling.web.http_caching import fresh_until, read_date, read_etag
from crawling.web.links import Links
from crawling.web.politeness import retry_after
from crawling.web.simhash import simhash
from crawling.web.statuses import (
    MOST_INDEXES,
    MOST_REDIRECTS,
    UNWANTED,
    FetchStatus,
    explain,
    is_redirect,
    may_pass,
    succeeded,
)

NOTHING = Document()
COPY = Document(unread=TruncationReason.COPY)
MEMORY_BUSY = FetchStatus.MEMORY_BUSY, FetchStatus.MEMORY_BUSY.sentence
ABSTRACT_LENGTH = 300
#: of which a robots.txt may name sitemaps
MOST_OTHER_HOSTS = 10


def conclude(
    claimed: ClaimedUrl,
    address: Address,
    dialled: str,
    fetched: Fetched,
    context: FetchContext,
    *,
    sitemaps: Sequence[str] = (),
) -> UrlOutcome:
    """Return what became of the URL. A try that may end better in a moment goes back to the queue.

    sitemaps: those of the site, as its robots.txt writes them; they come with this page.
    """
    error = fetched.error or ("" if succeeded(fetched.status) else explain(fetched.status))
    is_checked = context.links.filters.only_checks(claimed.hops)
    asked = fetched.retry_after if fetched.status >= 400 else None
    if outcome := _without_answer(claimed, fetched.status, error, asked, is_last=is_checked):
        return outcome
    target = _redirect_target(address, fetched)
    fetched = replace(fetched, body=fetched.body.at_hand())
    marks = _digests(fetched)
    document = NOTHING if is_checked else _read(claimed, address, fetched, marks, context)
    if not is_checked:
        document = _with_head(document, claimed, address, fetched, context)
    is_busy = document.unread is TruncationReason.BUSY
    if is_busy and (outcome := _without_answer(claimed, *MEMORY_BUSY)):
        return outcome
    is_personal = context.client.policy.is_personal
    pattern = pattern_with(address, claimed.pattern, year=context.links.traps.year)
    answer = _answer(
        address, dialled, fetched, document, target, marks, pattern, is_personal=is_personal
    )
    found = [*document.links, *([target] if target else [])]
    captured = _captured(claimed, fetched, answer.digest, found)
    if astray := _astray(claimed, address, fetched, target, document):
        told = _nowhere(fetched) if astray is FetchStatus.REDIRECT_NOWHERE else astray.sentence
        return UrlOutcome(
            claimed.id, UrlState.FAILED, astray, told, answer=answer, captured=captured
        )
    maps = () if is_checked else sitemaps
    links, refusals = _links(claimed, address, document, maps, target, context.links)
    state = UrlState.SUCCEEDED if succeeded(fetched.status) else UrlState.FAILED
    return UrlOutcome(
        claimed.id,
        state,
        fetched.status,
        error,
        answer=answer,
        links=links,
        refusals=refusals,
        captured=captured,
        page_links=PageLinks(
            address.url,
            document.base,
            document.charset,
            collected(document, target.url if target else ""),
        ),
        modified=document.modified,
        targets=_targets(claimed, address, document, target, context.links),
    )


def _without_answer(
    claimed: ClaimedUrl,
    status: int,
    error: str,
    asked: float | None = None,
    *,
    is_last: bool = False,
) -> UrlOutcome | None:
    """What becomes of a URL whose answer is not read: it is tried again, or has none.

    asked: the seconds after which the server wants to be asked again, with whatever status.
    """
    if (may_pass(status) or asked is not None) and not is_last:
        retry = retry_after(claimed.attempts, asked)
        if retry is not None:
            return UrlOutcome(claimed.id, UrlState.QUEUED, status, error, retry_seconds=retry)
    if status < 0:
        state = UrlState.EXCLUDED if status in UNWANTED else UrlState.FAILED
        return UrlOutcome(claimed.id, state, status, error)
    return None


def _maps(address: Address, sitemaps: Sequence[str]) -> list[Address]:
    """The sitemaps that a robots.txt names (sitemaps.org, *Submitting your Sitemap*): those of its
    own host, and of some others, which may list its pages, too.
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


def _captured(
    claimed: ClaimedUrl, fetched: Fetched, digest: bytes, links: Iterable[Address]
) -> CapturedExchange | None:
    if not fetched.exchange:
        return None
    outlinks = [link.url for link in links]
    sha256 = digest if fetched.exchange.is_plain and fetched.unchanged_since is None else b""
    return CapturedExchange(
        claimed.url,
        claimed.depth,
        claimed.attempts,
        fetched.exchange,
        fetched.unchanged_since,
        outlinks=outlinks,
        sha256=sha256,
    )


def _redirect_target(address: Address, fetched: Fetched) -> Address | None:
    if not is_redirect(fetched.status) or not fetched.location:
        return None
    try:
        target = read_address(fetched.location, address.url)
    except BadUrl:
        return None
    return target if may_lead(address.scheme, target.scheme) else None


def _nowhere(fetched: Fetched) -> str:
    """Why a redirect leads nowhere."""
    if "Location" not in fetched.headers:
        return f"{explain(fetched.status)}, but the answer has no Location: it leads nowhere."
    if not fetched.location:
        return f"{explain(fetched.status)}, but its Location is empty: it leads nowhere."
    return f"{FetchStatus.REDIRECT_NOWHERE.sentence} ({fetched.location[:200]})"


def _astray(
    claimed: ClaimedUrl,
    address: Address,
    fetched: Fetched,
    target: Address | None,
    document: Document,
) -> FetchStatus | None:
    """What is wrong with where it leads, as far as it can be seen from itself."""
    if document.is_index and claimed.nesting > MOST_INDEXES:
        return FetchStatus.NESTED_SITEMAPS
    if not is_redirect(fetched.status):
        return None
    if target is None:
        return FetchStatus.REDIRECT_NOWHERE
    if target.url == address.url:
        return FetchStatus.REDIRECT_LOOP
    return FetchStatus.TOO_MANY_REDIRECTS if claimed.redirects >= MOST_REDIRECTS else None


def _read(
    claimed: ClaimedUrl,
    address: Address,
    fetched: Fetched,
    marks: tuple[int, bytes],
    context: FetchContext,
) -> Document:
    if not succeeded(fetched.status) or not fetched.body:
        return NOTHING
    if context.copies.is_copy(claimed.id, *marks, context.port):
        return COPY
    document = read_document(
        DocumentSource(
            fetched.body,
            address.url,
            fetched.content_type,
            fetched.charset,
            context.links.reading,
            context.client.room,
        )
    )
    is_cut = fetched.is_partial and not (document.unread or is_redirect(fetched.status))
    return replace(document, unread=TruncationReason.BROKEN) if is_cut else document


def _with_head(
    document: Document,
    claimed: ClaimedUrl,
    address: Address,
    fetched: Fetched,
    context: FetchContext,
) -> Document:
    """The document with the links of its answer's head, or without any, if the head says so."""
    reading, headers = context.links.reading, fetched.headers
    tags = _fields(headers, "X-Robots-Tag") if reading.obey_nofollow and not claimed.nesting else ()
    if tags and asks_not_to_follow(tags, context.robots.token):
        return replace(document, links=[])
    if document is COPY or "Link" not in headers or not succeeded(fetched.status):
        return document
    wanted = PAGE_RELATIONS | (SHOWN_RELATIONS if reading.requisites else frozenset())
    links = Links(address.url, charset="UTF-8")
    for link in links_in_head(_fields(headers, "Link")):
        if link.relations & wanted and not (reading.obey_nofollow and link.relations & NOT_VOUCHED):
            links.add(link.target)
    there = {link.url for link in document.links}
    news = [link for link in links.found if link.url not in there]
    return replace(document, links=[*document.links, *news]) if news else document


def _fields(headers: Mapping[str, str], name: str) -> list[str]:
    """The lines of a field; where it comes from a record, they are joined."""
    if isinstance(headers, HTTPHeaderDict):
        return headers.getlist(name)
    return [headers[name]] if name in headers else []


def _links(
    claimed: ClaimedUrl,
    address: Address,
    document: Document,
    sitemaps: Sequence[str],
    target: Address | None,
    judge: LinkJudge,
) -> tuple[list[Candidate], list[Refusal]]:
    """The links of a page for the frontier, and those that the rules exclude.

    What a sitemap lists is as deep as the sitemap; of what is none, though it was named as one, the
    links count only if the rules let it in as a page.
    """
    is_map = claimed.nesting > 0
    gate = _Gate(claimed, judge)
    scheme = claimed.url.partition(":")[0]
    written = [link for link in document.links if may_lead(scheme, link.scheme)]
    if is_map and document.written and not judge.filters.judge(address, depth=claimed.depth).admits:
        written = []
    depth = claimed.depth if is_map and not document.written else claimed.depth + 1
    is_ours = claimed.hops == 0 and judge.filters.scope.takes_host_of(address)
    links = gate.sitemaps(_maps(address, sitemaps), depth) if is_ours else []
    if document.is_index:
        links += gate.sitemaps(_near(written, address, judge), depth)
    named = {candidate.address.url for candidate in links}
    links += gate.candidates(
        [link for link in written if link.url not in named] if named else written,
        depth,
        counts_all=judge.counts_links,
    )
    if judge.ascends and not is_map and not judge.filters.only_checks(claimed.hops):
        links += [
            replace(candidate, is_link=False)
            for candidate in gate.candidates(directories_above(address), depth, are_links=False)
        ]
    if target and (candidate := gate.redirected(target)):
        links.append(candidate)
    if judge.topic:
        links = with_similarity(links, judge.topic, claimed, address, document)
    return links, gate.refusals


def _targets(
    claimed: ClaimedUrl,
    address: Address,
    document: Document,
    target: Address | None,
    judge: LinkJudge,
) -> PageTargetMarks | None:
    """Where the page leads; None: no limit of the depth depends on it, or it is a sitemap, which
    has no depth of its own.
    """
    if judge.filters.scope.max_depth is None or claimed.nesting:
        return None
    links = {link.url for link in document.links}
    if judge.ascends:
        links.update(above.url for above in directories_above(address))
    marks = [fingerprint(url) for url in links]
    redirect = fingerprint(target.url) if target else None
    return PageTargetMarks(claimed.depth, marks, redirect) if marks or target else None


def _near(maps: Iterable[Address], address: Address, judge: LinkJudge) -> list[Address]:
    """Those of an index's sitemaps that lie on its own host (sitemaps.org), or on a host of the
    crawl's sites; another's are links, or its index could send the crawl anywhere.
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
        """The links of a page for the frontier; `counts_all`: known ones, too. `are_links`: they
        count as links to their targets.

        Links of this shift's earlier pages are not judged again: most links of most pages were seen
        before.
        """
        news = links if counts_all else self._judge.seen.unseen(links, depth, are_links=are_links)
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
        """What is named as a sitemap: no rule for pages keeps it out, as long as what it lists may
        be fetched at that depth.
        """
        claimed = self._claimed
        scheme = claimed.url.partition(":")[0]
        nesting = max(claimed.nesting, int(claimed.depth == 0)) + 1
        news = self._judge.seen.unseen(maps, depth, are_links=False)
        admitted = [
            link
            for link in news
            if may_lead(scheme, link.scheme)
            and self.judge(link, depth=depth, hops=claimed.hops, is_map=True)
        ]
        self._judge.seen.remember(admitted, depth)
        return [
            Candidate(link, depth, claimed.id, is_link=False, nesting=nesting) for link in admitted
        ]

    def redirected(self, target: Address) -> Candidate | None:
        """Where a redirect leads, if that is let in.

        It is as deep as the URL itself, and that of a seed is a seed: `example.org` may well live
        at `www`.
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
        """The ruling that lets a link in; None: it stays out."""
        if not is_seed and not is_map and self._judge.refusals.again(link.url):
            return None
        ruling = self._judge.filters.judge(
            link, depth=depth, hops=hops, is_seed=is_seed, is_map=is_map
        )
        if ruling.admits:
            return ruling
        refusal = self._judge.refusals.first(
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


def _answer(
    address: Address,
    dialled: str,
    fetched: Fetched,
    document: Document,
    target: Address | None,
    marks: tuple[int, bytes],
    pattern: Pattern | None,
    *,
    is_personal: bool,
) -> ServerAnswer:
    reused = fetched.reused
    now = reused.fetched_at if reused else datetime.now(UTC)
    fingerprint, digest = marks
    return ServerAnswer(
        status=fetched.status,
        final_url=target.url if target else address.url,
        content_type=fetched.content_type.replace("\0", ""),
        bytes=len(fetched.body),
        fingerprint=fingerprint,
        address=reused.address if reused else dialled,
        fetch_seconds=fetched.seconds,
        fetched_at=now,
        digest=digest,
        summary=_summary(document, fetched.charset),
        last_modified=read_date(fetched.headers.get("Last-Modified", "")),
        expires_at=fresh_until(fetched.headers, now),
        etag=read_etag(fetched.headers.get("ETag", "")),
        unchanged_since=fetched.unchanged_since,
        pattern=pattern,
        reused_from=reused.page_id if reused else None,
        is_personal=is_personal,
    )


def _digests(fetched: Fetched) -> tuple[int, bytes]:
    """The fingerprint of a document, and its SHA-256 if it counts as content."""
    is_content = bool(fetched.body) and (
        200 <= fetched.status < 300 or fetched.unchanged_since is not None
    )
    fingerprint, digest = xxh3_64(), sha256()
    for piece in fetched.body.pieces():
        fingerprint.update(piece)
        if is_content:
            digest.update(piece)
    return signed(fingerprint.intdigest()), digest.digest() if is_content else b""


def _summary(document: Document, stated_charset: str | None) -> DocumentSummary:
    return DocumentSummary(
        charset=document.charset or (stated_charset or "").replace("\0", ""),
        title=document.title,
        author=document.metadata.author,
        description=document.metadata.description,
        abstract=one_line(document.text, ABSTRACT_LENGTH),
        language=document.metadata.language,
        canonical=document.metadata.canonical,
        links=len(document.links),
        simhash=simhash(document.text) if document.text else None,
        needs_browser=document.needs_browser,
        unread=document.unread or "",
        extracted=document.extracted,
    )
