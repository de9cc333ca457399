"""What all toes of a shift share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, Protocol, TypeVar

from crawling.documents.base import Reading
from crawling.fetchers.bandwidth import Bandwidth
from crawling.fetchers.cookies import Cookies
from crawling.fetchers.dial import PinnedSession
from crawling.fetchers.hosts import HostSession
from crawling.fetchers.http import Fetched, How, Judge, fetch
from crawling.fetchers.lines import Way
from crawling.fetchers.progress import say
from crawling.fetchers.registry import FETCHERS
from crawling.fetchers.room import Room
from crawling.fetchers.task import Task
from crawling.frontier.outcomes import Answer
from crawling.frontier.parcels import Parcel
from crawling.frontier.rejudging import told
from crawling.frontier.seen import Seen
from crawling.frontier.verdicts import Refusals
from crawling.processors.offers import Offers
from crawling.rules.addresses import Address
from crawling.rules.exchanges import exchange_of
from crawling.rules.filters import Filters, Rule
from crawling.rules.proxies import Proxy
from crawling.rules.recipients import Recipients
from crawling.rules.robots import MAX_ROBOTS_BYTES
from crawling.rules.sections.fetching import FetchingPart, shows_itself
from crawling.rules.sections.politeness import Politeness
from crawling.rules.statuses import FetchStatus, succeeded
from crawling.rules.steps import Step
from crawling.rules.trapgate import TrapGate
from crawling.rules.vetting import Allowed, vet
from dnscache.resolver import Resolution, resolve

T = TypeVar("T")


class Asked(Protocol):
    """Puts a question to the database for a toe."""

    def __call__(self, question: Callable[[], T]) -> T | None: ...


class LeaseLost(Exception):
    """The hosts may be another shift's by now: nothing is asked of them any more."""


NOT_ASKED = "The server says that the document has not changed (304), which nobody asked."
#: what an answer may have beside its document: headers, the marks between chunks
WRAPPING_BYTES = 1024 * 1024


@dataclass
class Kit:
    """Set once by the shift, but for `filters`, `unbound`, `delay_seconds`, `politeness` and `ascends`, which it renews while toes work.

    unbound: hosts whose robots.txt does not bind this crawl, because an administrator says why.

    archives: documents' exchanges are kept. fetching: how to ask; its secrets go to `recipients` only.
    answer_seconds: the longest for one document, where the order's own is not to count. sessions: of hosts, by host key.
    login_failed: is told why the crawl could not log in.
    lease_is_lost: whether the shift's time is over.
    keep_cookies(host_id, jar): hands changed cookies to the shift, which stores them.
    counts_links: the frontier wants to hear of every link, even to what it knows. ascends: and of the directories above a URL.
    keep_robots(origin, status, body): hands a fetched robots.txt to the shift, which stores it for all crawls.
    own_robots: status and body, by origin, of those that were asked for in a way that is this crawl's own.
    archive(parcel, answer): hands an exchange to the archive, which closes it.
    shared_networks: whose addresses keep no clock.
    resolve(host): the addresses of a host that is not the visit's own.
    ask(question): what the database answers; None: it is not there, or has nothing to say.
    """

    token: str
    user_agent: str
    filters: Filters
    delay_seconds: float
    max_document_bytes: int
    bandwidth: Bandwidth
    allowed: list[Allowed]
    forbidden: frozenset[tuple[str, int]]
    answer_seconds: float | None = None
    politeness: Politeness = field(default_factory=Politeness)
    keep_robots: Callable[[str, int, bytes], None] = lambda origin, status, body: None
    own_robots: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    archives: bool = False
    fetching: FetchingPart = field(default_factory=FetchingPart)
    proxy: Proxy | None = None
    directories: Sequence[str] = ()
    recipients: Recipients = field(default_factory=Recipients)
    sessions: dict[str, HostSession] = field(default_factory=dict)
    login_failed: Callable[[str], None] = lambda sentence: None
    lease_is_lost: Callable[[], bool] = lambda: False
    keep_cookies: Callable[[int, list[dict[str, Any]]], None] = lambda host_id, jar: None
    shared_networks: Sequence[IPv4Network | IPv6Network] = ()
    archive: Callable[[Parcel, Answer], None] = lambda parcel, answer: parcel.exchange.close()
    ask: Asked = lambda question: question()
    resolve: Callable[[str], Resolution] = resolve
    counts_links: bool = False
    ascends: bool = False
    traps: TrapGate = field(default_factory=TrapGate)
    reading: Reading = field(default_factory=Reading)
    seen: Seen = field(default_factory=Seen)
    refusals: Refusals = field(default_factory=Refusals)
    unbound: frozenset[str] = frozenset()
    room: Room = field(default_factory=Room)
    offers: Offers = field(default_factory=Offers)
    session: PinnedSession = field(init=False)
    ending: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.session = PinnedSession(
            answer_seconds=self.answer_seconds or self.fetching.document_seconds,
            answer_bytes=max(self.max_document_bytes, MAX_ROBOTS_BYTES) + WRAPPING_BYTES,
            read_seconds=self.fetching.read_seconds,
        )

    @cached_property
    def is_personal(self) -> bool:
        """Whether answers to what this crawl asks may be meant for it alone."""
        return shows_itself(self.fetching.model_dump())

    def forget_links(self) -> None:
        """Let links be judged, and told of, as if they were met for the first time: other rules hold, or those of a page were not kept."""
        self.refusals.forget()
        self.seen.forget()

    def get(
        self,
        address: Address,
        dial: str,
        max_bytes: int | None = None,
        *,
        keep: bool = False,
        judge: Judge | None = None,
        asking: Mapping[str, str] | None = None,
        form: bytes | None = None,
    ) -> Fetched:
        """Fetch from a vetted address as the order says, within the shift's bandwidth.

        judge: says of an answer's head whether to read on. asking: headers that ask for less than the whole document.
        form: what to post there. Raises LeaseLost.
        """
        if self.lease_is_lost():
            raise LeaseLost
        if address.scheme in FETCHERS:
            fetched = self._get_otherwise(address, dial, max_bytes or self.max_document_bytes)
            return replace(fetched, exchange=exchange_of(fetched.body)) if keep and succeeded(fetched.status) else fetched
        way, refusal = self._way()
        if refusal:
            return refusal
        session = self.session_of(address.host_key)
        how = self._how(session, way, form)
        fetched = fetch(
            self.session,
            address.url,
            address=dial,
            headers={**self._headers(address, session, how), **(asking or {})},
            max_bytes=max_bytes or self.max_document_bytes,
            received=self._received,
            room=self.room,
            keep=keep,
            how=how,
            judge=judge,
        )
        if fetched.status == HTTPStatus.UNAUTHORIZED:
            session.challenges[address.origin] = fetched.headers.get("WWW-Authenticate", "")
        if fetched.status == HTTPStatus.NOT_MODIFIED and not asking:
            return replace(fetched.without_exchange(), status=FetchStatus.MALFORMED, error=NOT_ASKED)
        if fetched.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and way:
            fetched.close()
            return Fetched(FetchStatus.PROXY_FAILED, error=f"{FetchStatus.PROXY_FAILED.sentence} (it wants other credentials)")
        return fetched

    def _how(self, session: HostSession, way: Way | None, form: bytes | None) -> How:
        asks = self.fetching
        timeouts = (asks.connect_seconds, asks.first_byte_seconds)
        return How(timeouts, form, way, session.cookies, asks.hidden_headers)

    def _get_otherwise(self, address: Address, dial: str, max_bytes: int) -> Fetched:
        if self.proxy and address.scheme != "file":
            status = FetchStatus.PROXY_FAILED
            return Fetched(status, error=f"{status.sentence} ({address.scheme} does not go through proxies, and this crawl uses one)")
        task = Task(
            address,
            dial,
            max_bytes,
            self._received,
            may_dial=lambda port: bool(vet([dial], port, allowed=self.allowed, forbidden=self.forbidden).permitted),
            connect_seconds=self.fetching.connect_seconds,
            read_seconds=self.fetching.read_seconds,
            document_seconds=self.fetching.document_seconds,
            secret=self.password_for(address),
            directories=self.directories,
            is_cut=self.session.is_cut,
        )
        return FETCHERS[address.scheme](task)

    def asks_like_others(self, host_key: str) -> bool:
        """Whether what a host answers to this crawl is what it answers to every other."""
        asks = self.fetching
        return not (self.proxy or asks.headers or asks.keeps_cookies or host_key in asks.credentials)

    def session_of(self, host_key: str) -> HostSession:
        """What is known of a host; only the toe that has the host may ask."""
        return self.sessions.setdefault(host_key, HostSession(Cookies() if self.fetching.keeps_cookies else None))

    def password_for(self, address: Address) -> str:
        """`user:password` as the order has it for the URL's host; empty: none may be sent there."""
        may_have = self.recipients.may_have_password(address)
        return self.fetching.credentials.get(address.host_key, "") if may_have else ""

    def _headers(self, address: Address, session: HostSession, how: How) -> dict[str, str]:
        headers = {
            "User-Agent": self.user_agent,
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate, br, zstd",
            "Connection": "keep-alive",
        }
        may_have = self.recipients.may_have_headers(address)
        own = dict(self.fetching.headers_for(of_a_seed=may_have))
        headers = {name: value for name, value in headers.items() if name.lower() not in {each.lower() for each in own}} | own
        secret = self.password_for(address)
        if secret and (answer := session.authorization(secret, address, how.method)):
            headers["Authorization"] = answer
        if how.body is not None:
            headers["Content-Type"] = "application/json" if how.body[:1] in (b"{", b"[") else "application/x-www-form-urlencoded"
        return headers

    def _way(self) -> tuple[Way | None, Fetched | None]:
        """The proxy at an address that is vetted like any other, or why it may not be used."""
        proxy = self.proxy
        if proxy is None:
            return None, None
        found = self.resolve(proxy.host)
        trusted = [Allowed(ip_network(address), proxy.port, proxy.port) for address in found.addresses] if proxy.is_trusted else []
        vetted = vet(found.addresses, proxy.port, allowed=[*self.allowed, *trusted], forbidden=self.forbidden)
        if vetted.permitted:
            return Way(proxy, vetted.permitted[0]), None
        status = FetchStatus.PROXY_FAILED
        return None, Fetched(status, error=f"{status.sentence} ({found.error or vetted.reason})")

    def get_document(self, address: Address, dial: str, *, asking: Mapping[str, str] | None = None, form: bytes | None = None) -> Fetched:
        """Fetch a URL of the crawl's: no more of it than its filters let in."""
        most = min(self.max_document_bytes, self.filters.max_document_bytes or self.max_document_bytes)
        fetched = self.get(address, dial, most, keep=self.archives, judge=self._judge_answer, asking=asking, form=form)
        if fetched.status == FetchStatus.TOO_BIG and most < self.max_document_bytes:
            return replace(fetched, status=FetchStatus.TOO_LARGE, error=f"{FetchStatus.TOO_LARGE.sentence} (more than {most:,} bytes)")
        return fetched

    def _judge_answer(self, content_type: str, length: int | None) -> tuple[FetchStatus, str] | None:
        if length and length > self.max_document_bytes:
            return FetchStatus.TOO_BIG, FetchStatus.TOO_BIG.sentence
        ruling = self.filters.judge_answer(content_type, length)
        if ruling is None:
            return None
        return FetchStatus.WRONG_TYPE if ruling.rule is Rule.TYPE else FetchStatus.TOO_LARGE, told(ruling)

    def pause(self, seconds: float) -> None:
        """Wait, but no longer than the shift lasts: it has seconds to end in."""
        if seconds > 0:
            self.ending.wait(seconds)

    def _received(self, count: int) -> None:
        seconds = self.bandwidth.take(count)
        if seconds > 0:
            say(Step.WAITING_FOR_BANDWIDTH)
            self.pause(seconds)
            say(Step.READING)
