"""Send the requests of a crawl as its order says: with its headers, secrets, proxy, limits and
share of the granted units.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from ipaddress import ip_network
from types import MappingProxyType

from crawling.orders.sections.fetching import FetchingPart
from crawling.web.addresses import WEB, Address
from crawling.web.exchanges import Exchange
from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.budgets import Bandwidth, MemoryBudget
from crawling.web.fetch.cookies import Cookies, CookieStore
from crawling.web.fetch.host_session import HostSession
from crawling.web.fetch.http import Fetched, Judge, RequestOptions, accept_any, fetch
from crawling.web.fetch.progress import FetchStep, report_step
from crawling.web.fetch.scheme_task import FetchTask
from crawling.web.forms.submission import Submission
from crawling.web.protocols import PROTOCOLS
from crawling.web.proxies import Proxy, ProxyRoute
from crawling.web.robots import MAX_ROBOTS_BYTES
from crawling.web.secret_headers import Recipients
from crawling.web.statuses import FetchStatus, is_success
from crawling.web.vetting import AllowedRange, DialPolicy
from dnscache.resolver import Resolution, resolve

NOT_ASKED = "The server answered 304 (not modified) to an unconditional request."
#: the allowance for an answer's bytes besides its document: headers, and the marks between chunks
WRAPPING_BYTES = 1024 * 1024


NOTHING_ADDED: Mapping[str, str] = MappingProxyType({})


class LeaseLost(Exception):
    """The hosts may belong to another shift by now, so they get no further requests."""


@dataclass(frozen=True)
class RequestPolicy:
    """The identity that a crawl shows to hosts, and the hosts that get its secrets."""

    user_agent: str
    fetching: FetchingPart = field(default_factory=FetchingPart)
    recipients: Recipients = field(default_factory=Recipients)

    @cached_property
    def is_personal(self) -> bool:
        """Whether answers may be meant for this crawl alone."""
        return self.fetching.shows_itself

    def password_for(self, address: Address) -> str:
        """`user:password` for the URL's host, as in the order. Empty if none may be sent to that
        host.
        """
        may_have = self.recipients.may_have_password(address)
        return self.fetching.credentials.get(address.host_key, "") if may_have else ""

    def headers(
        self,
        address: Address,
        session: HostSession,
        how: RequestOptions,
        added: Mapping[str, str] = NOTHING_ADDED,
        *,
        with_secrets: bool = True,
    ) -> dict[str, str]:
        """The headers of a request. added: those of a page's script; the crawl's own come first.
        with_secrets: whether the request gets what was given for its origin.
        """
        headers = {
            "User-Agent": self.user_agent,
            "Accept": "*/*",
            "Accept-Encoding": "gzip, deflate, br, zstd",
            "Connection": "keep-alive",
            **added,
        }
        own = dict(
            self.fetching.headers_for(
                lambda name: with_secrets and self.recipients.may_have_header(name, address)
            )
        )
        replaced = {name.lower() for name in own}
        headers = {
            name: value for name, value in headers.items() if name.lower() not in replaced
        } | own
        secret = self.password_for(address) if with_secrets else ""
        if secret and (
            answer := session.authorization(secret, address, how.method, how.body or b"")
        ):
            headers["Authorization"] = answer
        if how.body is not None:
            is_json = how.body[:1] in (b"{", b"[")
            headers["Content-Type"] = how.body_type or (
                "application/json" if is_json else "application/x-www-form-urlencoded"
            )
        return headers


@dataclass(frozen=True)
class Egress:
    """The way out for requests: the allowed addresses, and the proxy."""

    dialling: DialPolicy
    proxy: Proxy | None = None
    #: the look-up of the proxy's name
    resolve: Callable[[str], Resolution] = resolve

    def route(self) -> tuple[ProxyRoute | None, Fetched | None]:
        """The proxy at a vetted address, or the reason why it may not be used."""
        proxy = self.proxy
        if proxy is None:
            return None, None
        found = self.resolve(proxy.host)
        trusted = [
            AllowedRange(ip_network(address), proxy.port, proxy.port) for address in found.addresses
        ]
        vetted = self.dialling.plus(trusted if proxy.is_trusted else ()).vet(
            found.addresses, proxy.port
        )
        if vetted.permitted:
            return ProxyRoute(proxy, vetted.permitted[0]), None
        return None, _proxy_failed(found.error or vetted.reason)


@dataclass
class Client:
    """Shared by the threads that fetch; only its connections and sessions change."""

    policy: RequestPolicy
    egress: Egress
    bandwidth: Bandwidth
    max_document_bytes: int
    memory_budget: MemoryBudget = field(default_factory=MemoryBudget)
    #: the only directories from which local files are read
    directories: Sequence[str] = ()
    #: waits for the given seconds, or until no more fetches are wanted
    pause: Callable[[float], None] = time.sleep
    lease_is_lost: Callable[[], bool] = lambda: False
    connections: PinnedSession = field(init=False)
    #: the cookies of all hosts, since the hosts of a domain share some
    cookies: CookieStore = field(default_factory=CookieStore)
    #: by host key
    sessions: dict[str, HostSession] = field(default_factory=dict)
    #: replaces the order's longest time for one document
    answer_seconds: InitVar[float | None] = None

    def __post_init__(self, answer_seconds: float | None) -> None:
        self.connections = PinnedSession(
            answer_seconds=answer_seconds or self.fetching.document_seconds,
            answer_bytes=max(self.max_document_bytes, MAX_ROBOTS_BYTES) + WRAPPING_BYTES,
            read_seconds=self.fetching.read_seconds,
        )

    @property
    def fetching(self) -> FetchingPart:
        return self.policy.fetching

    @property
    def may_get_different_answers(self) -> bool:
        """Whether some hosts may answer this crawl differently from others."""
        asks = self.fetching
        return bool(self.egress.proxy or asks.headers or asks.keeps_cookies or asks.credentials)

    @property
    def keeps_sessions(self) -> bool:
        """Whether the next shift can use what this shift learns about a host."""
        return bool(self.fetching.keeps_cookies or self.fetching.credentials)

    def has_default_identity(self, host_key: str) -> bool:
        """Whether a host's answers to this crawl are the same as to every other."""
        asks = self.fetching
        return not (
            self.egress.proxy or asks.headers or asks.keeps_cookies or host_key in asks.credentials
        )

    def session_of(self, host_key: str) -> HostSession:
        """The session of a host; only the thread that has the host may ask."""
        return self.sessions.setdefault(
            host_key, HostSession(Cookies(self.cookies) if self.fetching.keeps_cookies else None)
        )

    def get(
        self,
        address: Address,
        dial: str,
        max_bytes: int | None = None,
        *,
        keep: bool = False,
        judge: Judge = accept_any,
        asking: Mapping[str, str] | None = None,
        form: bytes | None = None,
        form_type: str = "",
        method: str = "",
        added: Mapping[str, str] = NOTHING_ADDED,
        login: Submission | None = None,
        with_secrets: bool = True,
    ) -> Fetched:
        """Fetch from a vetted address, within bandwidth. Raises LeaseLost.

        keep: return the exchange, too, for the archive. judge: decides from the head of an answer
        whether its body is read. asking: headers that ask for less than the whole document. form:
        the data to post. form_type: its type; by default its beginning tells. method: another than
        GET and POST. added: headers of a page's script, which replace none of the crawl's own.
        login: the form that is sent to this address. with_secrets: whether the request has the
        host's session, and what the order gives for its origin.
        """
        if self.lease_is_lost():
            raise LeaseLost
        most = max_bytes or self.max_document_bytes
        if address.scheme not in WEB:
            return self._get_by_scheme(address, dial, most, keep=keep)
        route, refusal = self.egress.route()
        if refusal:
            return refusal
        session = self.session_of(address.host_key) if with_secrets else HostSession()
        how = self._request_options(session, route, form, form_type, login)
        how = replace(how, other_method=method) if method else how
        headers = self.policy.headers(address, session, how, added, with_secrets=with_secrets)
        fetched = fetch(
            self.connections,
            address.url,
            address=dial,
            headers={**headers, **(asking or {})},
            max_bytes=most,
            received=self._wait_for_bandwidth,
            keep=keep,
            how=how,
            judge=judge,
        )
        session.keep_challenge(address.origin, fetched.status, fetched.headers)
        return _read_as_asked(fetched, is_conditional=bool(asking), route=route)

    def _request_options(
        self,
        session: HostSession,
        route: ProxyRoute | None,
        form: bytes | None,
        form_type: str,
        login: Submission | None,
    ) -> RequestOptions:
        asks = self.fetching
        how = RequestOptions(
            timeouts=(asks.connect_seconds, asks.first_byte_seconds),
            body=form,
            body_type=form_type,
            route=route,
            cookies=session.cookies,
            hidden=asks.hidden_headers,
        )
        if login is None:
            return how
        return replace(how, body=login.body, body_type=login.content_type, hides_query=True)

    def _get_by_scheme(self, address: Address, dial: str, max_bytes: int, *, keep: bool) -> Fetched:
        """Fetch a URL whose scheme is not HTTP. The limits also hold for the fetcher of a
        package.
        """
        protocol = PROTOCOLS.get(address.scheme)
        if protocol is None:
            return no_protocol(address.scheme)
        if self.egress.proxy and address.scheme != "file":
            return _proxy_failed(
                f"{address.scheme} does not go through proxies, and this crawl uses one"
            )
        task = FetchTask(
            address,
            dial,
            max_bytes,
            self._wait_for_bandwidth,
            may_dial=lambda port: bool(self.egress.dialling.vet([dial], port).permitted),
            connect_seconds=self.fetching.connect_seconds,
            read_seconds=self.fetching.read_seconds,
            document_seconds=self.fetching.document_seconds,
            secret=self.policy.password_for(address),
            directories=self.directories,
            is_cut=self.connections.is_cut,
        )
        fetched: Fetched = protocol.fetch(task)
        if len(fetched.body) > max_bytes:
            fetched.close()
            return Fetched(FetchStatus.TOO_BIG, error=FetchStatus.TOO_BIG.sentence)
        if not (keep and is_success(fetched.status)):
            return fetched
        exchange = Exchange(b"", b"", fetched.body.share(), is_plain=True)
        return replace(fetched, exchange=exchange)

    def _wait_for_bandwidth(self, count: int) -> None:
        seconds = self.bandwidth.take(count)
        if seconds > 0:
            report_step(FetchStep.WAITING_FOR_BANDWIDTH)
            self.pause(seconds)
            report_step(FetchStep.READING)


def no_protocol(scheme: str) -> Fetched:
    """The failure of a URL whose scheme has no fetcher here, with the reason."""
    status = FetchStatus.NO_PROTOCOL
    return Fetched(status, error=PROTOCOLS.fault_of(scheme) or f"{status.sentence} ({scheme})")


def _read_as_asked(fetched: Fetched, *, is_conditional: bool, route: ProxyRoute | None) -> Fetched:
    """The answer, or a failure if it does not fit the request."""
    if fetched.status == HTTPStatus.NOT_MODIFIED and not is_conditional:
        fetched.close()
        return replace(fetched, status=FetchStatus.MALFORMED, error=NOT_ASKED, exchange=None)
    if fetched.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and route:
        fetched.close()
        return _proxy_failed("it wants other credentials")
    return fetched


def _proxy_failed(why: str) -> Fetched:
    status = FetchStatus.PROXY_FAILED
    return Fetched(status, error=f"{status.sentence} ({why})")
