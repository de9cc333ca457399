"""The part of an order about requests: headers, cookies, credentials, a proxy, time limits, POST
seeds and a login.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationInfo, field_validator, model_validator

from crawling.orders.fields import NUMBER, ONE_LINE, Question
from crawling.web.addresses import BadUrl, read_address
from crawling.web.proxies import BadProxy, read_proxy
from crawling.web.secret_headers import MASK, USER_INFORMATION, Secret, masked_url

HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
#: Headers whose values are no secrets: they are sent to every host and may be shown. Every other
#: header is sent only to the seeds' origins.
OPEN_HEADERS = frozenset(
    {
        "accept",
        "accept-language",
        "cache-control",
        "dnt",
        "from",
        "pragma",
        "referer",
        "sec-gpc",
        "save-data",
    }
)
#: headers that the crawler sets itself, for framing, identity and conditions
OWN_HEADERS = frozenset(
    {
        *(
            "accept-encoding",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "expect",
            "host",
            "keep-alive",
            "range",
        ),
        *(
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-range",
            "if-unmodified-since",
            "te",
            "trailer",
            "transfer-encoding",
        ),
        *(
            "authorization",
            "cookie",
            "proxy-authorization",
            "proxy-connection",
            "upgrade",
            "user-agent",
        ),
    }
)
Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False), NUMBER]
HeaderValue = Annotated[str, Field(max_length=4000, pattern=r"^[ -~]*$")]
Line = Annotated[str, Field(max_length=4000, pattern=ONE_LINE)]
Key = Annotated[str, Field(min_length=1, max_length=500)]
Posts = dict[Key, Annotated[str, Field(max_length=100_000)]]
#: fields of the order whose values are never shown again, nor stored unencrypted
SECRET_FIELDS = ("headers", "credentials", "proxy", "posts", "login_fields")
#: fields of the order by which a site or a proxy may distinguish the crawl from others
SHOWING = ("headers", "cookies", "credentials", "login_url", "posts", "proxy")


class FetchingPart(BaseModel):
    """The way in which a crawl makes requests."""

    headers: Annotated[
        dict[Key, HeaderValue],
        Field(max_length=30, repr=False),
        Question(
            label="Headers",
            help="One per line, like Accept-Language: de. Headers that can carry a secret "
            "are sent to the hosts of the start URLs only.",
            meaning="request header; one that can carry a secret is sent to the seeds' "
            "origins only (keep secrets in a file)",
            mark=": ",
            option="--header",
            metavar="NAME=VALUE",
        ),
    ] = Field(default_factory=dict)
    cookies: Annotated[
        bool,
        Question(
            label="Keep cookies",
            heading="Cookies kept",
            help="As browsers keep them, for one run. Off: no cookies are sent.",
            meaning="keep each host's cookies for the run and send them back",
            option="--cookies",
        ),
    ] = False
    credentials: Annotated[
        dict[Key, Line],
        Field(max_length=100, repr=False),
        Question(
            label="User names and passwords",
            heading="User names",
            help="One host per line, like example.org user:password; sent when the host "
            "requests them (Basic or Digest).",
            meaning="host and user:password, sent when the host requests them, and over http "
            "or ftp only where a seed has that scheme",
            mark=" ",
        ),
    ] = Field(default_factory=dict)
    login_url: Annotated[
        Annotated[str, Field(max_length=4096)] | None,
        Question(
            label="Log-in page",
            heading="Log-in page",
            help="The form on it is sent before the first page of its host, once per work session.",
            meaning="page with a log-in form, which is sent before the first page of its host",
            above="",
        ),
    ] = None
    login_fields: Annotated[
        dict[Key, Annotated[str, Field(max_length=4000)]],
        Field(max_length=50, repr=False),
        Question(
            label="Log-in fields",
            heading="Log-in fields",
            help="One field per line, by its name in the form, like user=me.",
            meaning="fields of the form on login_url",
        ),
    ] = Field(default_factory=dict, validate_default=True)
    posts: Annotated[
        Posts,
        Field(max_length=1000, repr=False),
        Question(
            label="URLs fetched by POST",
            heading="POST requests",
            help="One per line: the URL, a space, and the body, like "
            "https://example.org/search q=books. Bodies are not shown again; the "
            "archive stores them.",
            meaning="URL and body; the seed is fetched by POST, and the archive stores the "
            "body with the answer",
            mark=" ",
            above="",
        ),
    ] = Field(default_factory=dict)
    proxy: Annotated[
        Annotated[str, Field(max_length=500)] | None,
        Field(repr=False),
        Question(
            label="Proxy",
            help="socks5://user:password@host:port or http://host:port, for all requests.",
            meaning="proxy: socks5://host:port or http://host:port (keep a password in a file)",
            option="--proxy",
            above="",
        ),
    ] = None
    connect_seconds: Annotated[
        Seconds,
        Question(
            label="Connection",
            heading="Connection timeout",
            help="Including TLS.",
            meaning="connection timeout in seconds",
            above="Timeouts in seconds:",
        ),
    ] = 5.0
    first_byte_seconds: Annotated[
        Seconds,
        Question(
            label="First byte",
            heading="First byte timeout",
            help="From the request.",
            meaning="timeout for the first byte of an answer, in seconds",
        ),
    ] = 5.0
    read_seconds: Annotated[
        Seconds,
        Question(
            label="Between pieces",
            heading="Timeout between pieces",
            help="From the piece before.",
            meaning="timeout between two pieces of an answer, in seconds",
        ),
    ] = 5.0
    document_seconds: Annotated[
        Seconds,
        Question(
            label="Whole document",
            heading="Document timeout",
            help="All waits together.",
            meaning="timeout for a whole document, in seconds",
        ),
    ] = 60.0

    @model_validator(mode="before")
    @classmethod
    def _read_posts(cls, fields: Any) -> Any:
        """Count a URL with data to post as a seed, even if the seeds do not contain it."""
        if (
            not isinstance(fields, dict)
            or not isinstance(fields.get("posts"), dict)
            or not isinstance(fields.get("seeds"), list)
        ):
            return fields
        return {
            **fields,
            "seeds": [
                *fields["seeds"],
                *(url for url in fields["posts"] if url not in fields["seeds"]),
            ],
        }

    @field_validator(*SECRET_FIELDS, mode="before")
    @classmethod
    def _refuse_mask(cls, value: Any) -> Any:
        if any(
            MASK in str(text) for text in (value.values() if isinstance(value, dict) else [value])
        ):
            raise ValueError(
                f"holds {MASK}, which stands for what is not shown again; give the secret "
                "itself, or leave it out"
            )
        return value

    @field_validator("headers")
    @classmethod
    def _check_header_names(cls, headers: dict[str, str]) -> dict[str, str]:
        for name in headers:
            if not HEADER_NAME.fullmatch(name):
                raise ValueError(f"{name[:100]!r} is no name of a header")
            if name.lower() in OWN_HEADERS:
                raise ValueError(
                    f"{name} is set by the crawler; credentials, cookies and who you are have "
                    "fields of their own"
                )
        return headers

    @field_validator("credentials")
    @classmethod
    def _check_credential_hosts(cls, credentials: dict[str, str]) -> dict[str, str]:
        for host, secret in credentials.items():
            if ":" not in secret:
                raise ValueError(f"{host[:100]}: write user:password")
        return {
            _canonical_url(f"https://{host}/", lambda url: read_address(url).host_key): secret
            for host, secret in credentials.items()
        }

    @field_validator("proxy")
    @classmethod
    def _check_proxy(cls, proxy: str | None) -> str | None:
        try:
            return read_proxy(proxy).url if proxy else None
        except BadProxy as error:
            raise ValueError(str(error)) from error

    @field_validator("posts")
    @classmethod
    def _check_post_addresses(cls, posts: dict[str, str]) -> dict[str, str]:
        return {
            _canonical_url(url, lambda text: read_address(text).url): body
            for url, body in posts.items()
        }

    @field_validator("login_url")
    @classmethod
    def _check_login_url(cls, url: str | None) -> str | None:
        return _canonical_url(url, lambda text: read_address(text).url) if url else None

    @field_validator("login_fields")
    @classmethod
    def _check_login_fields(cls, fields: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "login_url" in info.data and bool(info.data["login_url"]) != bool(fields):
            raise ValueError(
                "login_url and login_fields belong together: the page with the form, and what "
                "is filled in there"
            )
        return fields

    @property
    def keeps_cookies(self) -> bool:
        """Whether the crawl keeps cookies. A login requires them."""
        return self.cookies or self.login_url is not None

    @property
    def shows_itself(self) -> bool:
        """Whether a site's answer to such requests may be meant for this crawl alone."""
        return any(getattr(self, name) for name in SHOWING)

    def headers_for(self, may_have: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """The order's own headers for a host. may_have: tells whether the host gets a secret
        header, by its name.

        A header that is no secret is sent to every host.
        """
        for name, value in self.headers.items():
            if name.lower() in OPEN_HEADERS or may_have(name):
                yield name, value

    def secrets(self) -> Iterator[Secret]:
        """The parts of the order that are sent only to the origins for which they were given.

        The bodies of `posts` are sent to their own URLs, and a proxy's password to the proxy.
        """
        yield from (("headers", name) for name in self.headers if name.lower() not in OPEN_HEADERS)
        yield from (("credentials", host) for host in self.credentials)
        yield from (("login_fields", name) for name in self.login_fields)

    @property
    def hidden_headers(self) -> frozenset[str]:
        """Names, in lower case, of the order's headers that must be in no record."""
        return frozenset(name.lower() for name in self.headers) - OPEN_HEADERS

    def masked(self) -> dict[str, Any]:
        shown = self.model_dump()
        shown["headers"] = {
            name: value if name.lower() in OPEN_HEADERS else MASK
            for name, value in self.headers.items()
        }
        shown["credentials"] = {
            host: f"{secret.partition(':')[0]}:{MASK}" for host, secret in self.credentials.items()
        }
        shown["posts"] = dict.fromkeys(self.posts, MASK)
        shown["login_fields"] = dict.fromkeys(self.login_fields, MASK)
        shown["proxy"] = masked_url(self.proxy) if self.proxy else None
        return shown


def masked_names(order: Mapping[str, Any]) -> dict[str, list[str]]:
    """The masked secrets of an order: by field, the keys of its table, or the field itself."""
    found: dict[str, list[str]] = {}
    for name in SECRET_FIELDS:
        value = order.get(name) or {}
        entries = value if isinstance(value, dict) else {name: value}
        if masked := [key for key, text in entries.items() if MASK in str(text)]:
            found[name] = masked
    return found


def part_without_secrets(part: FetchingPart) -> FetchingPart:
    """The fields for a crawl of another user. A proxy stays, but without its password."""
    bare = USER_INFORMATION.sub("", part.proxy) if part.proxy else None
    none: dict[str, str] = {}
    return part.model_copy(
        update={
            "headers": dict(part.headers_for(lambda _: False)),
            "credentials": none,
            "posts": none,
            "login_url": None,
            "login_fields": none,
            "proxy": bare,
        }
    )


def order_with_secrets(order: Mapping[str, Any], secrets: Mapping[str, Any]) -> dict[str, Any]:
    """The order with secrets in place of masks. Unmasked values in tables are kept."""
    given = {name: secrets[name] for name in SECRET_FIELDS if name in secrets}
    tables = {
        name: {**order[name], **value}
        for name, value in given.items()
        if isinstance(value, dict) and isinstance(order.get(name), dict)
    }
    return {**order, **given, **tables}


def _canonical_url(url: str, read: Callable[[str], str]) -> str:
    try:
        return read(url)
    except BadUrl as error:
        raise ValueError(str(error)) from error
