"""The state that the fetch threads of a shift share, and the port by which they ask the shift."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, Protocol, TypeVar

from crawling.archive.earlier_answers import StoredDocument, answer_of
from crawling.archive.reader import originals_of
from crawling.fetching.pipeline.client import Client
from crawling.fetching.pipeline.page_rendering import PageRendering
from crawling.frontier import CapturedExchange, ServerAnswer
from crawling.frontier.admit.refusals import Refusals
from crawling.frontier.admit.seen_urls import SeenUrls
from crawling.frontier.record.page_rows import KnownContents
from crawling.models import Page
from crawling.orders.scope.filters import Rule, UrlFilters
from crawling.orders.scope.trap_gate import TrapGate
from crawling.orders.sections.politeness import PolitenessPart
from crawling.web.addresses import Address
from crawling.web.content.media_types import GZIPS, SILENT, is_sniffable, stated_type
from crawling.web.documents import xml
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.fetch.http import AnswerPart, DocumentRefusal, Fetched, Judgement
from crawling.web.reading.process import AheadDocument
from crawling.web.robots import RobotsRules, read_robots
from crawling.web.statuses import FetchStatus
from crawling.web.topics import Topic
from dnscache.resolver import Resolution, resolve

#: types that a server sends for as long as the client listens: server-sent events (HTML Standard,
#: section 9.2), and a camera's pictures
ENDLESS_TYPES = frozenset({"text/event-stream", "multipart/x-mixed-replace"})
#: the types with which servers send sitemaps
SITEMAP_TYPES = frozenset({*xml.TYPES, *GZIPS, *SILENT, "text/plain"})


T = TypeVar("T")


class ShiftPort(Protocol):
    """Any fetch thread calls these methods at any time."""

    def ask(self, question: Callable[[], T]) -> T | None:
        """The database's answer to the question. None if the database cannot be reached or has no
        answer.
        """

    def original_url(self, fingerprint: int, digest: bytes) -> int | None:
        """The id of the run's URL that had this content first; None if no page with it is known."""

    def stored_document(self, url: str, most: int) -> StoredDocument | None:
        """The document that the run has fetched from a URL, as `answer_in_run` has it."""

    def resolve(self, host: str) -> Resolution:
        """The addresses of a host other than the host of the visit."""

    def lease_is_lost(self) -> bool:
        """Whether the shift's time is over."""

    def archive(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        """Hand an exchange to the archive, which closes it."""

    def keep_robots(self, origin: str, status: int, body: bytes) -> None:
        """Hand on a robots.txt, to be stored for all crawls."""

    def keep_own_robots(self, origin: str, status: int, body: bytes) -> None:
        """Hand on a robots.txt that the host may have written for this crawl only, to be stored for
        this run alone.
        """

    def keep_session(self, host_id: int, session: dict[str, Any]) -> None:
        """Hand on a host's changed session."""

    def login_failed(self, sentence: str) -> None:
        """Say why the crawl could not log in."""


class NoShift:
    """The port of a test fetch: it answers questions at once and keeps nothing."""

    def ask(self, question: Callable[[], T]) -> T | None:
        return question()

    def original_url(self, fingerprint: int, digest: bytes) -> int | None:
        return None

    def stored_document(self, url: str, most: int) -> StoredDocument | None:
        return None

    def resolve(self, host: str) -> Resolution:
        return resolve(host)

    def lease_is_lost(self) -> bool:
        return False

    def archive(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        captured.exchange.close()

    def keep_robots(self, origin: str, status: int, body: bytes) -> None:
        pass

    def keep_own_robots(self, origin: str, status: int, body: bytes) -> None:
        pass

    def keep_session(self, host_id: int, session: dict[str, Any]) -> None:
        pass

    def login_failed(self, sentence: str) -> None:
        pass


class ReuseOffers:
    """Offers of stored pages, by the id of the URL that needs one.

    The shift's own thread makes and settles offers; fetch threads take the offered pages.
    """

    def __init__(self) -> None:
        self._pages: dict[int, tuple[Page, Page]] = {}
        self._own: set[int] = set()

    def make(self, pages: Mapping[int, Page], *, of_others: bool = True) -> None:
        """Offer pages of other crawls, or of earlier runs. Look up at once which records have their
        payloads, since fetch threads do not query the database.
        """
        originals = originals_of(pages.values())
        self._pages |= {url_id: (page, originals[page.pk]) for url_id, page in pages.items()}
        if not of_others:
            self._own.update(pages)

    def take(self, url_id: int, *, archives: bool, most: int) -> Fetched | None:
        """Read the offered page of a URL from the archive. None if the URL must be fetched.

        archives: return the exchange, too. most: the size in bytes of the largest document that the
        crawl takes.
        """
        pages = self._pages.get(url_id)
        found = answer_of(*pages, most) if pages else None
        return found if found is None or archives else found.drop_exchange()

    def settle(self, url_ids: Iterable[int]) -> dict[int, str]:
        """Withdraw the offers for URLs that are done. Return the ids of those URLs that were
        offered another crawl's page.
        """
        done = {
            url_id: pages[0].url.url
            for url_id in url_ids
            if (pages := self._pages.pop(url_id, None))
        }
        own, self._own = self._own & done.keys(), self._own - done.keys()
        return {url_id: url for url_id, url in done.items() if url_id not in own}


@dataclass
class CrawlPace:
    """The pace at which a crawl asks its hosts. Only the shift's own thread changes it."""

    delay_seconds: float = 0.0
    politeness: PolitenessPart = field(default_factory=PolitenessPart)
    #: networks whose addresses have no politeness clock
    shared_networks: Sequence[IPv4Network | IPv6Network] = ()
    #: whether the crawl fetches one URL at a time, in exactly the order of visits
    is_exact: bool = False
    #: set when the shift ends, so that no thread waits any longer
    ending: threading.Event = field(default_factory=threading.Event)

    def follow(self, delay_seconds: float, politeness: PolitenessPart, *, is_exact: bool) -> None:
        """Follow the edited order from now on."""
        self.delay_seconds, self.politeness = delay_seconds, politeness
        self.is_exact = is_exact

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`, but no longer than the shift lasts, which must end within seconds."""
        if seconds > 0:
            self.ending.wait(seconds)

    def address_gap(self, dial: str, configured_delay: float) -> float:
        """Seconds between two requests to an address; 0 if it has no clock.

        A host without a delay has none for its address either.
        """
        gap = min(self.politeness.address_delay_seconds, configured_delay)
        return (
            0.0
            if gap and any(ip_address(dial) in network for network in self.shared_networks)
            else gap
        )


@dataclass
class RobotsPolicy:
    #: the crawler's name in robots.txt files
    token: str
    #: hosts whose robots.txt does not bind this crawl, for a reason that an administrator gave;
    #: only the shift's own thread changes them
    unbound: frozenset[str] = frozenset()

    def binds(self, host_key: str) -> bool:
        return host_key not in self.unbound

    def read(self, status: int, body: bytes) -> RobotsRules:
        return read_robots(status, body, self.token)


@dataclass
class LinkJudge:
    """Decides which of a page's links the crawl follows. Only the shift's own thread changes its
    rules.
    """

    filters: UrlFilters
    #: the settings for reading documents
    reading: ReadingRules = field(default_factory=ReadingRules)
    #: whether the frontier gets every link, including links to known URLs
    counts_links: bool = False
    #: whether the directories above a URL are visited, too
    ascends: bool = False
    #: the topic of a focused crawl
    topic: Topic | None = None
    traps: TrapGate = field(default_factory=TrapGate)
    seen: SeenUrls = field(default_factory=SeenUrls)
    refusals: Refusals = field(default_factory=Refusals)
    #: the name of the filters; empty for the filters with which the shift began
    rules_key: str = ""

    def follow(
        self, rules_key: str, filters: Callable[[], UrlFilters], extract: Mapping[str, str]
    ) -> None:
        """Judge by these rules, and extract by the rules of `extract`, if either has changed."""
        if extract != self.reading.extract:
            self.reading = replace(self.reading, extract=extract)
        if rules_key != self.rules_key:
            self.filters, self.rules_key = filters(), rules_key
            self.forget()

    def add_seeds(self, seeds: Sequence[Address], targets: Sequence[Address]) -> None:
        """Treat these addresses as seeds from now on. targets: the redirect targets of seeds that
        count as seeds, too.
        """
        self.filters = self.filters.with_seeds(seeds).with_targets(targets)
        self.refusals.forget()

    def forget(self) -> None:
        """Judge links as if each were new, because the rules changed or a page's links were not
        stored.
        """
        self.refusals.forget()
        self.seen.forget()


@dataclass
class CopyPolicy:
    """Decides whether pages with the content of an earlier page are read (SEEDS W8). Only the
    shift's own thread changes it.
    """

    is_on: bool = False
    #: the contents that the shift has met; the store has the contents of the whole run
    contents: KnownContents = field(default_factory=KnownContents)

    def is_copy(self, url_id: int, fingerprint: int, digest: bytes, port: ShiftPort) -> bool:
        """Whether another URL of the run is known to have had this content first."""
        if not self.is_on or not digest:
            return False
        first = self.contents.known_url(digest)
        if first is None:
            first = port.original_url(fingerprint, digest)
        return first is not None and first != url_id


class DocumentReading(Protocol):
    def begin(self, source: DocumentSource, *, is_listed: bool) -> AheadDocument | None:
        """Let another process read an HTML document; None if it has to be read here."""


class NoReading:
    """No other process reads documents."""

    def begin(self, source: DocumentSource, *, is_listed: bool) -> AheadDocument | None:
        return None


@dataclass(frozen=True)
class FetchContext:
    client: Client
    links: LinkJudge
    robots: RobotsPolicy
    pace: CrawlPace = field(default_factory=CrawlPace)
    port: ShiftPort = field(default_factory=NoShift)
    offers: ReuseOffers = field(default_factory=ReuseOffers)
    copies: CopyPolicy = field(default_factory=CopyPolicy)
    #: whether the exchanges of documents are kept
    archives: bool = False
    #: reads documents elsewhere
    reading: DocumentReading = field(default_factory=NoReading)
    #: None if the order renders no page
    rendering: PageRendering | None = None

    def get_document(
        self,
        address: Address,
        dial: str,
        *,
        asking: Mapping[str, str] | None = None,
        form: bytes | None = None,
        is_head_only: bool = False,
        is_map: bool = False,
        is_seed: bool = False,
    ) -> Fetched:
        """Fetch a URL of the crawl, but only what its filters let in.

        is_head_only: leave out the body of the answer. is_map: the URL is a sitemap, to which the
        filters of pages do not apply. is_seed: also fetch a document that may be a sitemap.
        """
        granted = self.client.max_document_bytes
        most = granted if is_map else min(granted, self._most_of_a_page)
        judge_page = self._judge_seed if is_seed else self._judge_answer
        judge = self._judge_size if is_map else judge_page
        fetched = self.client.get(
            address,
            dial,
            most,
            keep=self.archives,
            judge=_want_head_only if is_head_only else judge,
            asking=asking,
            form=form,
        )
        if fetched.status == FetchStatus.TOO_BIG and most < granted:
            error = f"{FetchStatus.TOO_LARGE.sentence} (more than {most:,} bytes)"
            return replace(fetched, status=FetchStatus.TOO_LARGE, error=error)
        return fetched

    def archive_aside(self, address: Address, dial: str, fetched: Fetched) -> None:
        """Archive an exchange to which no page's row refers."""
        if fetched.exchange:
            about = ServerAnswer(
                status=fetched.status,
                final_url=address.url,
                content_type=fetched.content_type,
                bytes=len(fetched.body),
                fingerprint=0,
                address=dial,
                fetch_seconds=fetched.seconds,
                fetched_at=datetime.now(UTC),
            )
            captured = CapturedExchange(address.url, None, 1, fetched.exchange, has_page=False)
            self.port.archive(captured, about)

    def source_of(self, address: Address, fetched: Fetched) -> DocumentSource:
        return DocumentSource(
            fetched.body,
            address.url,
            fetched.content_type,
            fetched.charset,
            self.links.reading,
            self.client.memory_budget,
        )

    @property
    def _most_of_a_page(self) -> int:
        return self.links.filters.max_document_bytes or self.client.max_document_bytes

    def _judge_size(self, content_type: str | None, length: int | None) -> Judgement:
        if content_type in ENDLESS_TYPES:
            told = f"{content_type} is a stream without an end; only the answer's head was read."
            return DocumentRefusal(FetchStatus.WRONG_TYPE, told)
        if length and length > self.client.max_document_bytes:
            return DocumentRefusal(FetchStatus.TOO_BIG, FetchStatus.TOO_BIG.sentence)
        return AnswerPart.ALL

    def _judge_answer(self, content_type: str | None, length: int | None) -> Judgement:
        ruling = self.links.filters.judge_answer(content_type, length)
        judgement = self._judge_size(content_type, length)
        if ruling is None or judgement is not AnswerPart.ALL:
            return judgement
        status = FetchStatus.WRONG_TYPE if ruling.rule is Rule.TYPE else FetchStatus.TOO_LARGE
        return DocumentRefusal(status, ruling.explanation)

    def _judge_seed(self, content_type: str | None, length: int | None) -> Judgement:
        """Judge like `_judge_answer`, but let in types that a sitemap may have, since only its root
        element shows that it is one.
        """
        return self._judge_answer(None if content_type in SITEMAP_TYPES else content_type, length)

    def refusal_of_seed(self, fetched: Fetched) -> str:
        """Why a seed that turns out not to be a sitemap is refused; "" if its type is wanted."""
        field = fetched.headers.get("Content-Type", "")
        kind = fetched.content_type if is_sniffable(field) else stated_type(field).essence
        ruling = self.links.filters.judge_answer(kind, None) if kind in SITEMAP_TYPES else None
        return ruling.explanation if ruling else ""


def _want_head_only(content_type: str | None, length: int | None) -> Judgement:
    return AnswerPart.HEAD
