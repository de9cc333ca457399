"""The requests of a page in a browser, which the crawl's own client answers.

A page and the files that it loads from its host are one visit: nothing lies between their requests,
and the host rests after the last. Files of other hosts wait for the turns of their addresses.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from django.db import connections
from urllib3 import HTTPHeaderDict

from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.page_browser import PageFiles
from crawling.fetching.pipeline.preconditions import (
    address_to_dial,
    refusal_by_robots,
    wait_for_next_turn,
)
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier.address_clock import let_host_rest
from crawling.frontier.host_state import valid_robots
from crawling.web.addresses import WEB, Address, BadUrl, read_address
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.robots import fetch_robots, status_and_text
from crawling.web.politeness import backoff_seconds_after
from crawling.web.rendering.types import DoorAnswer, DoorRefusal, DoorRequest, Headers, RenderLimits
from crawling.web.robots import MAX_ROBOTS_BYTES, RobotsRules
from dnscache.resolver import Resolution

#: the most requests of a page to other hosts than its own
MOST_ELSEWHERE = 100
#: OPTIONS asks whether a script of one site may ask another (Fetch Standard, 4.8)
METHODS = ("GET", "POST", "OPTIONS")
#: headers of a browser that are not passed on, since the client sets them as for a plain fetch, or
#: speaks HTTP in its own way
OWN_HEADERS = frozenset(
    {
        *("user-agent", "host", "connection", "accept-encoding", "content-length"),
        *("upgrade-insecure-requests", "range", "if-none-match", "if-modified-since", "te"),
        *("content-type", "transfer-encoding", "upgrade", "priority", "accept-language"),
    }
)
#: Chromium's words for files
FILES = ("stylesheet", "script", "image", "font", "media")
#: Chromium's words for requests of scripts
DATA = ("fetch", "xhr")
#: the headers of requests that are the same for all pages
SAME_FOR_ALL = frozenset({"", "accept-encoding", "user-agent", "accept-language"})
OWN_PREFIXES = ("sec-", "proxy-", ":")


@dataclass
class DoorNotes:
    #: where the page's scripts wanted to lead the window, and the crawl did not
    led_to: list[Address] = field(default_factory=list)
    #: the hosts that have too much to do, which get no further request of the page, each with the
    #: status and the seconds that it asked for
    busy: dict[str, tuple[int, float | None]] = field(default_factory=dict)
    #: of the answers of servers, without those that were kept or archived before
    received_bytes: int = 0


@dataclass(eq=False)
class PageDoor:
    """Answers the requests of one page. Up to four threads call `answer` at once."""

    visit: Visit
    address: Address
    context: FetchContext
    limits: RenderLimits
    files: PageFiles
    #: whether robots.txt holds for files, too; it always holds for documents
    obeys_robots: bool
    is_closed: bool = False
    notes: DoorNotes = field(default_factory=DoorNotes)
    _elsewhere: int = 0
    _robots: dict[str, RobotsRules] = field(default_factory=dict)
    #: of the visit's clock and budget
    _lock: threading.Lock = field(default_factory=threading.Lock)
    #: so that a robots.txt is fetched once
    _robots_lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: DoorRequest) -> DoorAnswer:
        try:
            return self._answer(request)
        finally:
            connections.close_all()  # a look-up may have opened one for this thread

    def _answer(self, request: DoorRequest) -> DoorAnswer:
        try:
            address = read_address(request.url, self.address.url)
        except BadUrl:
            return DoorAnswer(refusal=DoorRefusal.BY_CRAWL)
        answer = self._answer_from(request, address)
        if request.is_navigation and answer.refusal:
            self.notes.led_to.append(address)
        return answer

    def _answer_from(self, request: DoorRequest, address: Address) -> DoorAnswer:
        is_own = address.host_key == self.address.host_key
        if not self._may_ask(request, address, is_own=is_own):
            return DoorAnswer(refusal=DoorRefusal.BY_CRAWL)
        with_secrets = _is_asked_by(self.address.origin, request, address)
        # answers to the crawl itself are for pages of their own origin
        key = f"{self.address.origin if with_secrets else ''} {address.url}"
        is_file = _is_file(request)
        if is_file and (known := self.files.get(key)):
            return known
        is_for_all = with_secrets or not self.context.client.policy.is_personal
        if is_file and is_for_all and (known := self._from_archive(address, key)):
            return known
        dial, refusal = address_to_dial(
            self._resolution(address, is_own=is_own),
            address.port,
            self.context.client.egress.dialling,
        )
        if refusal or not self._wait_for_turn(dial, is_own=is_own):
            return DoorAnswer(refusal=DoorRefusal.NO_ANSWER if refusal else DoorRefusal.BY_LIMIT)
        is_document = request.resource_type == "document"
        if (is_document or self.obeys_robots) and self._is_forbidden(address, dial):
            return DoorAnswer(refusal=DoorRefusal.BY_ROBOTS)
        answer = self._fetch(request, address, dial, is_own=is_own, with_secrets=with_secrets)
        if is_file and answer.status == HTTPStatus.OK and is_kept(answer):
            self.files.put(key, answer)
        return answer

    def _from_archive(self, address: Address, key: str) -> DoorAnswer | None:
        """The answer that the run has fetched as a page of its own; only orders that fetch the
        files of pages have such pages.
        """
        if not self.context.links.reading.requisites:
            return None
        stored = self.context.port.stored_document(address.url, self.limits.body_bytes)
        if stored is None:
            return None
        with closing(stored.body):
            body = b"".join(stored.body.pieces())
        answer = DoorAnswer(HTTPStatus.OK, "", list(stored.headers.items()), body)
        if not is_kept(answer):
            return None
        self.files.put(key, answer)
        return answer

    def _may_ask(self, request: DoorRequest, address: Address, *, is_own: bool) -> bool:
        """Whether the crawl makes such a request: a document only of the page's own host, and
        nothing that the blocklist or the order excludes.
        """
        filters = self.context.links.filters
        if self.is_closed or address.scheme not in WEB or request.method not in METHODS:
            return False
        if address.host_key in self.notes.busy:
            return False
        if filters.blocklist.find(address) or filters.exclude.find(address.url):
            return False
        if is_own:
            return True
        if self.files.busy.is_resting(address.host_key):
            return False
        with self._lock:
            self._elsewhere += 1
        return not request.is_navigation and self._elsewhere <= MOST_ELSEWHERE

    def _resolution(self, address: Address, *, is_own: bool) -> Resolution:
        known = self.visit.route.resolution
        return known if is_own and known else self.context.port.resolve(address.hostname)

    def _wait_for_turn(self, dial: str, *, is_own: bool) -> bool:
        """Wait until the address may be asked. False if the page or the shift ends before."""
        while not is_own and not self._is_over():
            if wait_for_next_turn(self.visit, dial, self.context, or_wait=True):
                break
        return not self._is_over()

    def _is_over(self) -> bool:
        return self.is_closed or self.context.pace.ending.is_set()

    def _is_forbidden(self, address: Address, dial: str) -> bool:
        if not self.context.robots.binds(address.host_key):
            return False
        with self._robots_lock:
            rules = self.visit.robots.by_origin.get(address.origin)
            rules = rules or self._robots.get(address.origin)
            if rules is None:
                rules = self._robots[address.origin] = self._learn_robots(address, dial)
        return refusal_by_robots(rules, address) is not None

    def _learn_robots(self, address: Address, dial: str) -> RobotsRules:
        found = self.context.port.ask(lambda: valid_robots([address.origin]))
        if found and address.origin in found:
            return self.context.robots.read(*found[address.origin])

        def get(hop: Address, number: int) -> Fetched:
            if hop.host_key != address.host_key or hop.port != address.port:
                return Fetched(HTTPStatus.NOT_FOUND)
            fetched = self.context.client.get(
                hop,
                dial,
                MAX_ROBOTS_BYTES,
                keep=self.context.archives,
                with_secrets=address.origin == self.address.origin,
            )
            self.context.archive_aside(hop, dial, fetched)
            return fetched.with_document_in_memory(MAX_ROBOTS_BYTES)

        answer = fetch_robots(address.origin, get)
        status, body = status_and_text(answer) if answer else (HTTPStatus.NOT_FOUND, b"")
        if self.context.client.has_default_identity(address.host_key):
            self.context.port.keep_robots(address.origin, status, body)
        return self.context.robots.read(status, body)

    def _fetch(
        self,
        request: DoorRequest,
        address: Address,
        dial: str,
        *,
        is_own: bool,
        with_secrets: bool,
    ) -> DoorAnswer:
        fetched = self.context.client.get(
            address,
            dial,
            min(self.limits.body_bytes, self.context.client.max_document_bytes),
            keep=self.context.archives,
            form=request.body if request.method == "POST" else None,
            method="OPTIONS" if request.method == "OPTIONS" else "",
            form_type=_fields(request.headers).get("content-type", ""),
            added=passed_on(request.headers),
            with_secrets=with_secrets,
        )
        if is_busy(fetched):
            self._note_busy(address, fetched, is_own=is_own)
        if is_own:
            with self._lock:
                self.visit.clock.budget.spend(self.visit.clock.politeness)
        with self._lock:
            self.notes.received_bytes += len(fetched.body)
        body = b"" if fetched.status < 0 else b"".join(fetched.body.pieces())
        self.context.archive_aside(address, dial, fetched)
        fetched.body.close()
        if fetched.status <= 0:
            return DoorAnswer(refusal=DoorRefusal.NO_ANSWER)
        return DoorAnswer(fetched.status, "", headers_of(fetched), body)

    def _note_busy(self, address: Address, fetched: Fetched, *, is_own: bool) -> None:
        """Send no further request to an overloaded host. The visit lets the own host rest."""
        host, asked = address.host_key, fetched.retry_after
        self.notes.busy[host] = fetched.status, asked
        if not is_own:
            # no secret
            chance = random.random()  # noqa: S311
            seconds = backoff_seconds_after(fetched.status, asked=asked, in_a_row=1, chance=chance)
            self.files.busy.rest(host, seconds)
            self.context.port.ask(partial(let_host_rest, host, seconds))


def _is_file(request: DoorRequest) -> bool:
    """Whether all pages get the same answer: no document, and no data that a script asks for with
    cookies or headers of its own.
    """
    if request.method != "GET" or request.resource_type not in (*FILES, *DATA):
        return False
    asked = {name.lower(): value for name, value in passed_on(request.headers).items()}
    is_usual = asked.pop("accept", "*/*") == "*/*" and asked.keys() <= {"referer", "origin"}
    return request.resource_type in FILES or is_usual


def is_kept(answer: DoorAnswer) -> bool:
    """Whether other pages may get the same answer."""
    told = _fields(answer.headers)
    differs_by = {name.strip().lower() for name in told.get("vary", "").split(",")}
    return (
        "set-cookie" not in told
        and "no-store" not in told.get("cache-control", "").lower()
        and differs_by <= SAME_FOR_ALL
    )


def is_busy(fetched: Fetched) -> bool:
    """Whether a file's answer is about its host, which has too much to do. A file that is
    unavailable for other reasons says nothing of the host.
    """
    return fetched.status == HTTPStatus.TOO_MANY_REQUESTS or (
        fetched.status == HTTPStatus.SERVICE_UNAVAILABLE and fetched.retry_after is not None
    )


def _is_asked_by(origin: str, request: DoorRequest, address: Address) -> bool:
    """Whether a document or script of this origin requests something of its own origin. Browsers
    send cookies to other origins in cases of which a paused request says nothing, so none gets the
    crawl's secrets: an advertisement in a frame would act with its login.

    A request without Origin and Referer, which a policy may leave out, counts only if the window
    itself makes it.
    """
    if address.origin != origin:
        return False
    told = _fields(request.headers)
    from_url = told.get("origin", "") or told.get("referer", "")
    if not from_url:
        return request.is_of_window
    try:
        return read_address(from_url).origin == origin
    except BadUrl:  # the opaque origin, "null"
        return False


def _fields(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers}


def passed_on(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers of a browser's request that the client sends, too, as it writes their names."""
    return {
        name.title(): value
        for name, value in headers
        if name.lower() not in OWN_HEADERS and not name.lower().startswith(OWN_PREFIXES)
    }


def headers_of(fetched: Fetched) -> Headers:
    """The headers of an answer, with one entry for each line."""
    headers: Mapping[str, str] = fetched.headers
    return list(headers.iteritems() if isinstance(headers, HTTPHeaderDict) else headers.items())
