"""The rendering of a fetched page: a browser runs its scripts before its links and text are read.

The page is fetched as every other, so that rules, robots.txt, retries and its record are the same.
The browser gets the answer, and its further requests come back to the crawl's client.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from crawling.fetching.pipeline.conclusion import NOTHING
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.page_browser import ReadPage, limits_of
from crawling.fetching.pipeline.page_door import DoorNotes, PageDoor, headers_of
from crawling.fetching.pipeline.page_rendering import PageRendering
from crawling.fetching.pipeline.visit import Visit
from crawling.frontier import CapturedExchange, ClaimedUrl, ServerAnswer
from crawling.orders.rendering import (
    Rendering,
    is_richer,
)
from crawling.orders.sections.rendering import RenderingPart
from crawling.web.addresses import Address, BadUrl, read_address, read_route
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import Document, DocumentSource
from crawling.web.documents.html import TYPES as HTML_TYPES
from crawling.web.documents.registry import read_document
from crawling.web.exchanges import Exchange
from crawling.web.fetch.budgets import DEADLINE_SECONDS
from crawling.web.fetch.cookies import Cookie
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.progress import FetchStep, report_step
from crawling.web.rendering.types import (
    BrowserCookie,
    PageToRender,
    Rendered,
    RenderVerdict,
)
from crawling.web.statuses import FetchStatus, is_success

#: the most clicks on what looks like *load more*
CLICKS = 5
HTML = "text/html;charset=utf-8"
#: the most lines of the console and failed requests that a page's row has, and their characters
MOST_TOLD, LONGEST_TOLD = 20, 300
#: the status of a page whose rendering was ended
ENDED = {
    RenderVerdict.TOO_LONG: FetchStatus.RENDER_TIMED_OUT,
    RenderVerdict.TOO_MUCH_MEMORY: FetchStatus.RENDER_MEMORY,
    RenderVerdict.CRASHED: FetchStatus.RENDER_CRASHED,
    RenderVerdict.CRASHED_BESIDE: FetchStatus.RENDER_CRASHED,
    RenderVerdict.TOO_MANY_REQUESTS: FetchStatus.RENDER_REQUESTS,
    RenderVerdict.TOO_MANY_NAVIGATIONS: FetchStatus.RENDER_REQUESTS,
    RenderVerdict.TOO_MANY_MESSAGES: FetchStatus.RENDER_REQUESTS,
    RenderVerdict.TOO_LARGE: FetchStatus.RENDER_BYTES,
    RenderVerdict.BURDENS_OTHERS: FetchStatus.RENDER_BURDEN,
}


def read_with_browser(
    visit: Visit, claimed: ClaimedUrl, address: Address, fetched: Fetched, context: FetchContext
) -> ReadPage | None:
    """Read a page, and render it if the order and the page ask for it. None if the order renders no
    page, or there is none.

    The visit's host is held meanwhile, and rests afterwards as after a fetch that took as long.
    """
    rendering = context.rendering
    if (
        rendering is None
        or not is_success(fetched.status)
        or not fetched.body
        or context.links.filters.wants_head_only(claimed.hops)
    ):
        return None
    is_html = fetched.content_type in HTML_TYPES
    plain = read_document(context.source_of(address, fetched)) if is_html else NOTHING
    why = rendering.judge(address, plain, is_html=is_html)
    if not why.is_rendered or plain.unread:
        return ReadPage(plain if is_html else None, rendering.conclude(address, why))
    result, notes = _render(visit, address, fetched, rendering, context)
    loaded = notes.received_bytes
    if not isinstance(result, Rendered):
        about = rendering.conclude(address, result)
        return ReadPage(plain, about._replace(received_bytes=loaded))
    document = _document(result, address, notes.led_to, rendering, context)
    if document is None or document.unread:
        about = rendering.conclude(address, FetchStatus.RENDER_REFUSED)
        return ReadPage(plain, about._replace(received_bytes=loaded))
    about = rendering.conclude(address, why, has_gained=is_richer(plain, document))
    about = about._replace(facts=_facts(result, plain), received_bytes=loaded)
    return ReadPage(document, about, _derived(result))


def _render(
    visit: Visit,
    address: Address,
    fetched: Fetched,
    rendering: PageRendering,
    context: FetchContext,
) -> tuple[Rendered | Rendering | FetchStatus, DoorNotes]:
    """The rendered page, or the reason why there is none, and what its requests showed."""
    assert rendering.budget
    assert rendering.engine
    report_step(FetchStep.WAITING_FOR_BROWSER)
    if not rendering.budget.take(DEADLINE_SECONDS):
        return FetchStatus.RENDER_BUSY, DoorNotes()
    report_step(FetchStep.RENDERING)
    began_at, part = time.monotonic(), rendering.part
    door = PageDoor(
        visit,
        address,
        context,
        limits_of(part),
        rendering.engine.files,
        obeys_robots=part.render_obeys_robots,
    )
    try:
        result = rendering.engine.render(_page(address, fetched, part, context), door)
    finally:
        door.is_closed = True
        rendering.budget.give_back()
        visit.clock.last_fetch_seconds = fetched.seconds + time.monotonic() - began_at
        visit.clock.rest_for_delay()
        if address.host_key in door.notes.busy:
            status, asked = door.notes.busy[address.host_key]
            visit.clock.rest_at_fault(status, asked)
    if result is None:
        return Rendering.NO_BROWSER, door.notes
    return ENDED.get(result.verdict, result), door.notes


def _page(
    address: Address, fetched: Fetched, part: RenderingPart, context: FetchContext
) -> PageToRender:
    session = context.client.session_of(address.host_key)
    known = session.cookies.going_to(address) if session.cookies else []
    return PageToRender(
        url=address.url,
        status=fetched.status,
        headers=headers_of(fetched),
        body=b"".join(fetched.body.pieces()),
        user_agent=context.client.policy.user_agent,
        limits=limits_of(part),
        cookies=tuple(map(_cookie, known)),
        wants_picture=context.archives,
        clicks=CLICKS,
        context=address.origin,
    )


def _cookie(stored: Cookie) -> BrowserCookie:
    domain = stored.domain if stored.is_host_only else f".{stored.domain}"
    # the crawl's own client sends cookies, so no script has to read them
    return BrowserCookie(
        stored.name, stored.value, domain, stored.path, stored.is_secure, is_http_only=True
    )


def _document(
    result: Rendered,
    address: Address,
    led_to: Sequence[Address],
    rendering: PageRendering,
    context: FetchContext,
) -> Document | None:
    """The rendered page, with the links that only appeared after clicks, lead to routes, or were
    followed by scripts. None if there is no text of a document.
    """
    if not result.document.html:
        return None
    document = _read(result.document.html, _base(result.document.url, address), context)
    links = {link.url: link for link in document.links}
    for state in result.states:
        if state.html:
            found = _read(state.html, _base(state.url, address), context).links
            links = {link.url: link for link in found} | links
    for text in (*result.document.route_links, *(route.url for route in result.routes)):
        route = read_route(text, address)
        link = route or _base(text, address)
        if link.url != address.url and (route is None or rendering.may_follow(route)):
            links.setdefault(link.url, link)
    links = {link.url: link for link in led_to} | links
    return replace(document, links=list(links.values()))


def _base(url: str, address: Address) -> Address:
    """The address that a script has given to the page, if it is on the page's host."""
    try:
        found = read_address(url, address.url)
    except BadUrl:
        return address
    return found if found.host_key == address.host_key else address


def _read(html: str, base: Address, context: FetchContext) -> Document:
    content = DocumentStream.of(html.encode("utf-8", "replace"))
    client = context.client
    return read_document(
        DocumentSource(
            content, base.url, "text/html", "utf-8", context.links.reading, client.memory_budget
        )
    )


def _derived(result: Rendered) -> dict[str, tuple[str, bytes]]:
    """By the names that Browsertrix gives to such records."""
    made = {
        "dom": (HTML, result.document.html.encode("utf-8", "replace")),
        "text": ("text/plain;charset=utf-8", result.document.text.encode("utf-8", "replace")),
        "view": ("image/jpeg", result.picture),
        "thumbnail": ("image/jpeg", result.thumbnail),
    }
    return {kind: (how, content) for kind, (how, content) in made.items() if content}


def _facts(result: Rendered, plain: Document) -> dict[str, Any]:
    """The browser's notes, and facts by which the page is compared with the plain one and with
    later ones. Texts of strangers are cut to their beginnings.
    """
    failed = [[_told(one.url), _told(one.reason)] for one in result.failed_requests[:MOST_TOLD]]
    return {
        "seconds": round(result.counts.seconds, 2),
        "requests": result.counts.requests,
        "bytes": result.counts.body_bytes,
        "memory_bytes": result.counts.memory_bytes,
        "scrolls": result.counts.scrolls,
        "clicks": len(result.states),
        "dialogs": result.counts.dialogs,
        "is_partial": result.verdict is RenderVerdict.PARTLY,
        "console": [_told(line) for line in result.console[:MOST_TOLD]],
        "failed": failed,
        "has_faults": bool(failed) or any(line.startswith("error:") for line in result.console),
        "view_digest": hashlib.sha256(result.picture).hexdigest() if result.picture else "",
        "plain_charset": plain.charset,
    }


def _told(text: str) -> str:
    """A text that a column of JSON can have."""
    return text[:LONGEST_TOLD].replace("\0", "").encode("utf-8", "replace").decode()


def archive_derived(
    page: ReadPage, address: Address, context: FetchContext
) -> dict[str, CapturedExchange]:
    """Archive the renditions of the page, as records of type `resource`."""
    captured = {}
    for kind, (content_type, content) in page.derived.items():
        url = f"urn:{kind}:{address.url}"
        about = ServerAnswer(
            status=200,
            final_url=url,
            content_type=content_type,
            bytes=len(content),
            fingerprint=0,
            address="",
            fetch_seconds=0.0,
            fetched_at=datetime.now(UTC),
        )
        exchange = Exchange(b"", b"", DocumentStream.of(content), is_plain=True)
        captured[kind] = CapturedExchange(url, None, 1, exchange, has_page=False)
        context.port.archive(captured[kind], about)
    return captured
