"""Cookies as browsers keep them (RFC 6265, and its revision 6265bis where that says more).

No library fits: Python's own follows older standards, and the cookies of curl cannot be read
without the cookies of all hosts.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any, NamedTuple

from crawling.machine.eviction import forget_oldest
from crawling.web.addresses import Address
from crawling.web.public_suffixes import domain_of, is_literal, is_public_suffix

#: the most bytes of a name with its value, and of the value of an attribute (6265bis, sections 5.6
#: and 5.7)
LONGEST = 4096
LONGEST_ATTRIBUTE = 1024
#: the most cookies of one domain, as cookies state it; the oldest are removed first (the standard
#: requires at least 50)
MOST_COOKIES = 100
#: the most cookies of a site, which may have many hosts
MOST_OF_A_SITE = 300
#: the most sites; the most recent ones are kept
MOST_SITES = 2_000
#: the most bytes of cookies in a request: many servers answer 431 to twice as much
MOST_BYTES = 8192
#: the longest time for which a cookie is kept (6265bis, section 5.5)
MOST_SECONDS = 400 * 24 * 3600
#: an expiry that changes by less is not stored
SAME_SECONDS = 60
LONG_PAST = 0.0
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
BLANKS = " \t"
SECURE_PREFIX, HOST_PREFIX = "__secure-", "__host-"
#: the delimiters between the words of a date (section 5.1.1)
DELIMITERS = re.compile(r"[\x09\x20-\x2f\x3b-\x40\x5b-\x60\x7b-\x7e]++")
CLOCK = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D|\Z)", re.ASCII)
DAY = re.compile(r"(\d{1,2})(?:\D|\Z)", re.ASCII)
YEAR = re.compile(r"(\d{2,4})(?:\D|\Z)", re.ASCII)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MAX_AGE = re.compile(r"-?+\d++", re.ASCII)


class Key(NamedTuple):
    """The fields that identify a cookie."""

    name: str
    domain: str
    is_host_only: bool
    path: str


@dataclass(frozen=True, slots=True)
class Cookie:
    name: str
    value: str
    domain: str
    is_host_only: bool
    path: str
    is_secure: bool
    #: seconds since 1970; None if the cookie lasts until the run ends
    expires_at: float | None
    created_at: float
    #: the time of the latest answer that set the cookie
    set_at: float

    @property
    def key(self) -> Key:
        return Key(self.name, self.domain, self.is_host_only, self.path)

    @property
    def pair(self) -> str:
        return f"{self.name}={self.value}" if self.name else self.value

    def has_expired(self, now: float) -> bool:
        return self.expires_at is not None and self.expires_at <= now

    def is_of(self, host: str) -> bool:
        return host == self.domain if self.is_host_only else matches_domain(host, self.domain)

    def goes_to(self, address: Address) -> bool:
        """Whether a request for the URL sends this cookie (section 5.8.3). Ports are ignored."""
        return (
            self.is_of(_host_of_address(address))
            and matches_path(_path_of_address(address), self.path)
            and (address.scheme == "https" or not self.is_secure)
        )

    def is_like(self, other: Cookie | None) -> bool:
        """Whether replacing the other cookie by this one would change nothing."""
        if other is None or self.pair != other.pair or self.is_secure != other.is_secure:
            return False
        if self.expires_at is None or other.expires_at is None:
            return self.expires_at is other.expires_at
        return abs(self.expires_at - other.expires_at) < SAME_SECONDS


def read_set_cookie(field: str, address: Address, now: float) -> Cookie | None:
    """The cookie that an answer sets, or deletes by an expiry in the past; None if it is ignored
    (6265bis, sections 5.6 and 5.7).
    """
    if CONTROL.search(field):
        return None
    pair, *rest = field.split(";")
    before, mark, behind = pair.partition("=")
    name, value = (
        (before.strip(BLANKS), behind.strip(BLANKS)) if mark else ("", before.strip(BLANKS))
    )
    if not (name or value) or len(name) + len(value) > LONGEST:
        return None
    attributes = _attributes(rest)
    host, domain = _host_of_address(address), attributes.get("domain", "").removeprefix(".").lower()
    if domain and is_public_suffix(domain) and not is_literal(domain):
        if domain != host:
            return None
        domain = ""
    if domain and not (domain.isascii() and matches_domain(host, domain)):
        return None
    path = attributes.get("path", "")
    cookie = Cookie(
        name,
        value,
        domain or host,
        not domain,
        path if path.startswith("/") else _default_path(_path_of_address(address)),
        "secure" in attributes,
        _expiry_time(attributes, now),
        now,
        now,
    )
    return cookie if _obeys_prefix(cookie, path, address) else None


def _attributes(parts: Iterable[str]) -> dict[str, str]:
    """The attributes by name in lower case. If a name occurs twice, its last value counts."""
    found: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition("=")
        if len(value) <= LONGEST_ATTRIBUTE:
            name, value = name.strip(BLANKS).lower(), value.strip(BLANKS)
            is_void = (name == "max-age" and not MAX_AGE.fullmatch(value)) or (
                name == "expires" and read_cookie_date(value) is None
            )
            if not is_void:
                found[name] = value
    return found


def _expiry_time(attributes: Mapping[str, str], now: float) -> float | None:
    if age := attributes.get("max-age"):
        seconds = MOST_SECONDS if len(age) > 12 else int(age)
        is_past = age.startswith("-") or seconds <= 0
        return LONG_PAST if is_past else now + min(seconds, MOST_SECONDS)
    moment = read_cookie_date(attributes.get("expires", ""))
    return min(moment.timestamp(), now + MOST_SECONDS) if moment else None


def _obeys_prefix(cookie: Cookie, path: str, address: Address) -> bool:
    """Whether a cookie meets the conditions of its name's prefix (6265bis, section 4.1.3)."""
    name = (cookie.name or cookie.value).lower()
    if not name.startswith((SECURE_PREFIX, HOST_PREFIX)):
        return True
    is_secure = bool(cookie.name) and cookie.is_secure and address.scheme == "https"
    return is_secure and (name.startswith(SECURE_PREFIX) or (cookie.is_host_only and path == "/"))


def read_cookie_date(text: str) -> datetime | None:
    """A date as section 5.1.1 reads it; None if the text is not a date."""
    clock: tuple[int, ...] | None = None
    day = month = year = None
    for word in DELIMITERS.split(text[:LONGEST_ATTRIBUTE]):
        if clock is None and (found := CLOCK.match(word)):
            clock = tuple(map(int, found.groups()))
        elif day is None and (found := DAY.match(word)):
            day = int(found[1])
        elif month is None and word[:3].lower() in MONTHS:
            month = MONTHS.index(word[:3].lower()) + 1
        elif year is None and (found := YEAR.match(word)):
            year = int(found[1])
    if clock is None or day is None or month is None or year is None:
        return None
    year += 1900 if 70 <= year <= 99 else 2000 if year <= 69 else 0
    if year < 1601:
        return None
    try:
        return datetime(year, month, day, clock[0], clock[1], clock[2], tzinfo=UTC)
    except ValueError:
        return None


def matches_domain(host: str, domain: str) -> bool:
    """Section 5.1.3."""
    return host == domain or (host.endswith(f".{domain}") and not is_literal(host))


def matches_path(path: str, pattern: str) -> bool:
    """Section 5.1.4."""
    return path == pattern or (
        path.startswith(pattern) and (pattern.endswith("/") or path[len(pattern)] == "/")
    )


def _host_of_address(address: Address) -> str:
    return address.hostname.removesuffix(".")


def _path_of_address(address: Address) -> str:
    return address.target.partition("?")[0]


def _default_path(path: str) -> str:
    """The default path (section 5.1.4)."""
    return path[: path.rfind("/")] or "/"


def _site_of_host(host: str) -> str:
    """The site of a host: hosts of one site may share cookies."""
    return domain_of(host) or host


class CookieStore:
    """The cookies of a run that a shift knows, shared by its fetch threads. Deleted cookies stay,
    marked as deleted, until others need their room, so that an older value from another shift does
    not restore them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._sites: dict[str, dict[Key, Cookie]] = {}

    def header(self, address: Address, now: float) -> str:
        """The Cookie field for a URL, in the standard's order. If there are too many cookies, the
        oldest are left out.
        """
        if not self._sites:
            return ""
        with self._lock:
            known = list(self._sites.get(_site_of_host(_host_of_address(address)), {}).values())
        sent, size = [], 0
        for cookie in sorted(known, key=lambda one: one.set_at, reverse=True):
            if not cookie.has_expired(now) and cookie.goes_to(address):
                size += len(cookie.pair) + len("; ")
                if size > MOST_BYTES:
                    break
                sent.append(cookie)
        sent.sort(key=lambda one: (-len(one.path), one.created_at))
        return "; ".join(cookie.pair for cookie in sent)

    def take(self, cookie: Cookie, address: Address) -> bool:
        """Store a cookie that the URL's answer sets. Return whether the stored cookies change."""
        with self._lock:
            site = self._site_of(cookie)
            if not cookie.is_secure and address.scheme != "https" and _is_covered(site, cookie):
                return False
            known = site.pop(cookie.key, None)
            if known:
                cookie = replace(cookie, created_at=known.created_at)
            elif cookie.has_expired(cookie.set_at):
                return False
            site[cookie.key] = cookie
            _make_room(site, cookie.set_at)
            return not cookie.is_like(known)

    def learn(self, cookies: Iterable[Cookie]) -> None:
        """Merge cookies that another shift knew. Of two values the later counts."""
        with self._lock:
            for cookie in sorted(cookies, key=lambda one: one.set_at):
                site = self._site_of(cookie)
                known = site.get(cookie.key)
                if known is None or known.set_at < cookie.set_at:
                    site[cookie.key] = cookie
                    _make_room(site, cookie.set_at)

    def _site_of(self, cookie: Cookie) -> dict[Key, Cookie]:
        """The cookies of the cookie's site, which becomes the most recent site."""
        name = _site_of_host(cookie.domain)
        self._sites[name] = site = self._sites.pop(name, {})
        forget_oldest(self._sites, MOST_SITES)
        return site

    def known_to(self, host: str) -> list[Cookie]:
        """The cookies that concern the host."""
        with self._lock:
            known = list(self._sites.get(_site_of_host(host), {}).values())
        return [
            cookie
            for cookie in known
            if (
                cookie.domain == host
                if cookie.is_host_only
                else matches_domain(host, cookie.domain)
            )
        ]


def _is_covered(site: Mapping[Key, Cookie], cookie: Cookie) -> bool:
    """Whether a cookie without TLS must not replace a stored secure cookie (6265bis, 5.7)."""
    return any(
        other.is_secure
        and other.name == cookie.name
        and (
            matches_domain(other.domain, cookie.domain)
            or matches_domain(cookie.domain, other.domain)
        )
        and matches_path(cookie.path, other.path)
        for other in site.values()
    )


def _make_room(site: dict[Key, Cookie], now: float) -> None:
    """Remove expired cookies first, then the oldest cookies of the domain with the most cookies."""
    of_domains = Counter(key.domain for key in site)
    domain, most = of_domains.most_common(1)[0]
    if most <= MOST_COOKIES and len(site) <= MOST_OF_A_SITE:
        return
    there = [cookie for cookie in site.values() if cookie.domain == domain]
    del site[min(there, key=lambda one: (not one.has_expired(now), one.set_at)).key]


def _restored_cookie(parts: Mapping[str, Any]) -> Cookie:
    """A cookie from its dump, which an earlier version may have written."""
    if "set_at" in parts:
        return Cookie(**parts)
    is_host_only = not parts.get("domain_specified")
    domain, moment = str(parts["domain"]).removeprefix("."), 0.0
    return Cookie(
        parts["name"],
        parts["value"] or "",
        domain,
        is_host_only,
        parts["path"],
        bool(parts["secure"]),
        parts["expires"],
        moment,
        moment,
    )


def merge_page_cookies(own: str, of_page: str) -> str:
    """The Cookie field of a request that a page makes: the crawl's own cookies, and those of the
    page that have other names, as many as there is room for.
    """
    pairs = own.split("; ") if own else []
    names, size = {_cookie_name(pair) for pair in pairs}, len(own)
    for pair in filter(None, of_page.split("; ")):
        size += len(pair) + len("; ")
        if _cookie_name(pair) not in names and size <= MOST_BYTES:
            pairs.append(pair)
    return "; ".join(pairs)


def _cookie_name(pair: str) -> str:
    name, mark, _ = pair.partition("=")
    return name if mark else ""


class Cookies:
    """A host's part of the run's cookies, for one fetch thread at a time.

    `has_changed` is true until the changes are dumped.
    """

    def __init__(self, store: CookieStore | None = None) -> None:
        self._store = store or CookieStore()
        self._host = ""
        self.has_changed = False

    def header(self, address: Address) -> str:
        """The Cookie field for a URL; empty if none is sent."""
        return self._store.header(address, time.time())

    def take(self, address: Address, fields: Iterable[str]) -> None:
        """Keep the cookies of an answer's Set-Cookie fields, and delete those that it expires."""
        self._host = _host_of_address(address)
        for field in fields:
            cookie = read_set_cookie(field, address, time.time())
            if cookie and self._store.take(cookie, address):
                self.has_changed = True

    def going_to(self, address: Address) -> list[Cookie]:
        """The cookies that a request for the URL sends."""
        known, now = self._store.known_to(_host_of_address(address)), time.time()
        return [one for one in known if one.goes_to(address) and not one.has_expired(now)]

    def learn(self, dumped: Iterable[Mapping[str, Any]]) -> None:
        """Merge cookies that were dumped for this host or for another host of its site."""
        self._store.learn(map(_restored_cookie, dumped))

    def dump(self) -> list[dict[str, Any]]:
        """The cookies as values that JSON can represent. Resets `has_changed`."""
        self.has_changed = False
        return [asdict(cookie) for cookie in self._store.known_to(self._host)]
