"""Pages as a caller hands them to a browser, and as they come back: text, numbers and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

Headers = list[tuple[str, str]]
#: in characters, of all addresses of a result
LONGEST_URL = 4000


class NoBrowserError(Exception):
    """There is no browser that can be started, for the reason in the text."""


class RenderVerdict(StrEnum):
    RENDERED = "rendered"
    #: the page was still at work, or larger than its limit, when it was read
    PARTLY = "partly"
    TOO_LONG = "too_long"
    TOO_MUCH_MEMORY = "too_much_memory"
    TOO_MANY_REQUESTS = "too_many_requests"
    TOO_MANY_NAVIGATIONS = "too_many_navigations"
    TOO_MANY_DIALOGS = "too_many_dialogs"
    TOO_MANY_WINDOWS = "too_many_windows"
    #: lines of the console and errors, of its workers too
    TOO_MANY_MESSAGES = "too_many_messages"
    #: it kept the browser's own process busy while others waited
    BURDENS_OTHERS = "burdens_others"
    #: the files of the page have more bytes than its limit
    TOO_LARGE = "too_large"
    #: the process of the page, its browser or its program died
    CRASHED = "crashed"
    #: the browser or its program died while other pages were open, too; any may be the cause
    CRASHED_BESIDE = "crashed_beside"
    #: the answer is not a document that a browser shows
    NOT_SHOWN = "not_shown"


class DoorRefusal(StrEnum):
    """The reason why a request of a page gets no answer."""

    BY_CRAWL = "by_crawl"
    BY_ROBOTS = "by_robots"
    BY_LIMIT = "by_limit"
    NO_ANSWER = "no_answer"
    #: the browser never passes on requests of this kind: a second window, an upload of unknown size
    BY_BROWSER = "by_browser"


@dataclass(frozen=True, slots=True)
class RenderLimits:
    seconds: float = 30.0
    #: all bodies that the page gets
    body_bytes: int = 32 * 1024 * 1024
    requests: int = 200
    scrolls: int = 10
    #: the process of the page
    memory_bytes: int = 512 * 1024 * 1024
    #: the document after rendering
    html_bytes: int = 8 * 1024 * 1024
    picture_bytes: int = 4 * 1024 * 1024
    #: the window
    width: int = 1280
    height: int = 800


@dataclass(frozen=True, slots=True)
class BrowserCookie:
    name: str
    value: str
    #: with a dot in front if subdomains get it, too
    domain: str
    path: str = "/"
    is_secure: bool = False
    is_http_only: bool = False


@dataclass(frozen=True, slots=True)
class PageToRender:
    """A fetched document. The browser does not fetch it again."""

    url: str
    status: int
    headers: Headers
    #: without content encoding
    body: bytes
    user_agent: str
    limits: RenderLimits = RenderLimits()
    accept_language: str = ""
    cookies: tuple[BrowserCookie, ...] = ()
    wants_picture: bool = False
    #: the most clicks on what looks like *load more*
    clicks: int = 0
    #: Pages with the same name, one origin of one run, share storage and cookies. They are rendered
    #: one after the other. Empty: the page shares nothing
    context: str = ""


@dataclass(frozen=True, slots=True)
class DoorRequest:
    method: str
    url: str
    headers: Headers
    body: bytes
    #: in Chromium's words, in lower case: script, stylesheet, image, fetch, xhr, document
    resource_type: str
    #: a document for the window itself; those of its frames are not
    is_navigation: bool
    #: the document of the window requests it, and none of a frame
    is_of_window: bool


@dataclass(frozen=True, slots=True)
class DoorAnswer:
    """An answer, redirects too, or the reason why there is none."""

    status: int = 0
    reason: str = ""
    headers: Headers = field(default_factory=list)
    #: without content encoding
    body: bytes = b""
    refusal: DoorRefusal | None = None


class Door(Protocol):
    def answer(self, request: DoorRequest) -> DoorAnswer:
        """Answer a request of a page. It may block; up to four threads call it at once."""
        ...


@dataclass(frozen=True, slots=True)
class Route:
    """An address that a script has set without a navigation."""

    url: str
    #: of the DOM after the page was quiet; empty if another address followed before
    fingerprint: str


@dataclass(frozen=True, slots=True)
class PageState:
    """The page after a click."""

    #: the words on what was clicked
    label: str
    url: str
    fingerprint: str
    #: empty if the sum of all states exceeds the limit of HTML
    html: str


@dataclass(frozen=True, slots=True)
class FailedRequest:
    url: str
    #: an HTTP status or a refusal
    reason: str


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    """The window after rendering; all empty if the page could not be read."""

    #: after navigations and routes
    url: str = ""
    html: str = ""
    text: str = ""
    title: str = ""
    fingerprint: str = ""
    #: its links to itself whose fragments begin as those of routes do, as the document has them
    #: after each act
    route_links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderCounts:
    #: those that the door was asked for, and the bytes of their bodies
    requests: int = 0
    body_bytes: int = 0
    dialogs: int = 0
    windows: int = 0
    scrolls: int = 0
    seconds: float = 0.0
    #: the highest measured size of the process of the page
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Rendered:
    verdict: RenderVerdict
    document: RenderedDocument = RenderedDocument()
    #: JPEG; empty without one
    picture: bytes = b""
    thumbnail: bytes = b""
    routes: tuple[Route, ...] = ()
    states: tuple[PageState, ...] = ()
    console: tuple[str, ...] = ()
    failed_requests: tuple[FailedRequest, ...] = ()
    counts: RenderCounts = RenderCounts()


@dataclass(frozen=True, slots=True)
class PageView:
    """A page at work as it looks now."""

    url: str
    #: since its rendering was requested
    seconds: float
    #: the highest measured size of the process of the page so far
    memory_bytes: int
    #: JPEG; empty if there is none yet
    picture: bytes


@dataclass(frozen=True, slots=True)
class BrowserUse:
    """The work of a browser process so far, and its size now."""

    pages: int = 0
    browsers_started: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class BrowserFacts:
    version: str
    #: the kernel keeps the pages' processes away from files and other processes
    is_sandboxed: bool
    #: the kernel gives the browser no network at all
    has_no_network: bool
