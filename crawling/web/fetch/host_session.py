"""A shift's state of a host beside its robots.txt: cookies, the challenge of its authentication,
and whether the crawl has logged in.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.cookiejar import Cookie, CookieJar
from io import BytesIO
from typing import Any, cast

from requests import PreparedRequest, Request, Response
from requests.adapters import BaseAdapter
from requests.auth import HTTPDigestAuth
from requests.cookies import MockRequest, MockResponse, get_cookie_header
from requests.hooks import dispatch_hook
from requests.structures import CaseInsensitiveDict
from requests.utils import parse_dict_header
from urllib3 import HTTPHeaderDict

from crawling.web.addresses import Address

#: a host that asks for more means no good; of too many the oldest go
MOST_COOKIES = 100
LONGEST = 4096
#: bytes of all together, and so the most that a request has: many servers answer 431 to twice as
#: much
MOST_BYTES = 8192
PARTS = ("version", "name", "value", "port", "domain", "path", "secure", "expires", "discard")


class Cookies:
    """Used by the fetch thread that has the host, one at a time.

    `has_changed` until they were dumped.
    """

    def __init__(self, dumped: Iterable[dict[str, Any]] = ()) -> None:
        self._jar = CookieJar()
        for parts in dumped:
            self._jar.set_cookie(_cookie(parts))
        self._by_age = list(self._jar)
        self._kept = self.dump()
        self._is_empty, self._has_been_told = not self._kept, False

    @property
    def has_changed(self) -> bool:
        return self._has_been_told and self.dump() != self._kept

    def header(self, url: str) -> str:
        """What to send back to a URL; empty: nothing."""
        # as with most hosts: to ask the jar costs more than to parse a small page
        if self._is_empty:
            return ""
        return get_cookie_header(self._jar, _request(url)) or ""  # type: ignore[no-untyped-call]

    def take(self, url: str, headers: HTTPHeaderDict) -> None:
        """Store the answer's cookies, and delete those that it expires."""
        if "Set-Cookie" not in headers:
            return
        self._jar.extract_cookies(MockResponse(_readable(headers)), MockRequest(_request(url)))  # type: ignore[arg-type]
        there = {id(cookie): cookie for cookie in self._jar if _size(cookie) <= LONGEST}
        old = [there.pop(id(cookie)) for cookie in self._by_age if id(cookie) in there]
        self._by_age = [*old, *there.values()][-MOST_COOKIES:]
        while sum(map(_size, self._by_age)) > MOST_BYTES:
            del self._by_age[0]
        self._jar.clear()
        for cookie in self._by_age:
            self._jar.set_cookie(cookie)
        self._is_empty, self._has_been_told = not self._by_age, True

    def dump(self) -> list[dict[str, Any]]:
        """The cookies as JSON can hold them, the oldest first."""
        return [
            {part: getattr(cookie, part) for part in PARTS}
            | {"domain_specified": cookie.domain_specified}
            for cookie in self._by_age
        ]

    def taken(self) -> list[dict[str, Any]]:
        """The dump; since now nothing has changed."""
        self._kept, self._has_been_told = self.dump(), False
        return self._kept


def _size(cookie: Cookie) -> int:
    """Bytes of a Cookie header for it."""
    return len(cookie.name) + len(cookie.value or "") + len("=; ")


def _readable(headers: HTTPHeaderDict) -> HTTPHeaderDict:
    """The Set-Cookie fields without what CookieJar fails at, which costs all cookies of the answer.

    That is a Max-Age without a value, which RFC 6265 ignores (section 5.2), and Set-Cookie2.
    """
    fields = (
        ";".join(part for part in field.split(";") if part.strip().lower() != "max-age")
        for field in headers.getlist("Set-Cookie")
    )
    return HTTPHeaderDict([("Set-Cookie", field) for field in fields])


def _request(url: str) -> PreparedRequest:
    request = PreparedRequest()
    request.url, request.headers = url, CaseInsensitiveDict()
    return request


def _cookie(parts: dict[str, Any]) -> Cookie:
    return Cookie(
        **parts,
        port_specified=parts["port"] is not None,
        domain_initial_dot=parts["domain"].startswith("."),
        path_specified=True,
        comment=None,
        comment_url=None,
        rest={},
    )


@dataclass
class HostSession:
    """Used by the fetch thread that has the host; it is one at a time."""

    cookies: Cookies | None = None
    #: of the latest 401 of each of its origins (RFC 9110, section 11.5), by origin
    challenges: dict[str, str] = field(default_factory=dict)
    is_logged_in: bool = False
    _digest: tuple[str, HTTPDigestAuth] | None = field(default=None, repr=False)

    def keep_challenge(self, origin: str, status: int, headers: Mapping[str, str]) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            self.challenges[origin] = headers.get("WWW-Authenticate", "")

    def authorization(self, secret: str, address: Address, method: str) -> str:
        """The answer to the challenge of the URL's origin (RFC 7617, RFC 7616).

        Empty as long as that has made none that is known here.
        """
        challenge = self.challenges.get(address.origin, "")
        place = challenge.lower().find("digest ")
        if place >= 0:
            said = challenge[place + len("digest ") :]
            user, _, password = secret.partition(":")
            return self._digest_for(said, user, password, address.url, method)
        is_basic = "basic" in challenge.lower()
        return f"Basic {b64encode(secret.encode()).decode()}" if is_basic else ""

    def _digest_for(self, challenge: str, user: str, password: str, url: str, method: str) -> str:
        if not {"realm", "nonce"} <= parse_dict_header(challenge).keys():  # type: ignore[no-untyped-call]
            return ""
        if self._digest is None or self._digest[0] != challenge:
            self._digest = challenge, HTTPDigestAuth(user, password)
        request = Request(method, url).prepare()
        request.url = url  # as it is sent, where requests would write it again
        self._digest[1](request)
        if "Authorization" not in request.headers:
            request = _answered(request, challenge)
        # headers are latin-1 here; RFC 7616 writes names in UTF-8, as they were hashed
        said: str = request.headers.get("Authorization", "")
        return said.encode().decode("latin-1")


class _Kept(BaseAdapter):
    """Keeps what it is to send: the host's delay comes before that."""

    request: PreparedRequest

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        self.request = request
        return Response()


def _answered(request: PreparedRequest, challenge: str) -> PreparedRequest:
    """What requests would send after a 401 with this challenge."""
    refused, kept = Response(), _Kept()
    refused.status_code, refused.request, refused.url = 401, request, request.url or ""
    refused.raw, refused.connection = BytesIO(), cast(Any, kept)
    refused.headers["WWW-Authenticate"] = f"Digest {challenge}"
    dispatch_hook("response", request.hooks, refused)  # type: ignore[no-untyped-call]
    return kept.request
