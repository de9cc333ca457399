"""The cookies of one host: its cookies, by the rules of browsers (RFC 6265)."""

from __future__ import annotations

from collections.abc import Iterable
from http.cookiejar import Cookie, CookieJar
from typing import Any

from requests.cookies import MockRequest, MockResponse, get_cookie_header
from requests.models import PreparedRequest
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPHeaderDict

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
