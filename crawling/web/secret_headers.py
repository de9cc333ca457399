"""An order's secret headers: the URLs to which they may be sent, and their values in masked
form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

from crawling.web.addresses import Address
from crawling.web.protocols import WEB_PORTS

MASK = "•••"
#: the replacement of a secret in archives, as bytes
HIDDEN = b"(not kept)"
#: headers whose values are never stored, from whatever source
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
#: headers of answers whose values would let a stranger act as the crawl
SET_COOKIE = frozenset({"set-cookie", "set-cookie2"})
PASSWORD = re.compile(r"(?<=//)([^/@:]*):[^/@]*@")
#: a URL's user name, password, or both
USER_INFORMATION = re.compile(r"(?<=//)[^/?#]*@")


def masked_url(url: str) -> str:
    return PASSWORD.sub(rf"\1:{MASK}@", url)


def masked_head(head: str) -> str:
    """The head of an answer without the values of cookies, including cookies in folded lines."""
    shown: list[str] = []
    is_cookie = False
    for line in head.splitlines(keepends=True):
        if not line.startswith((" ", "\t")):
            name, mark, value = line.partition(":")
            is_cookie = bool(mark) and name.strip().lower() in SET_COOKIE
            end = value[len(value.rstrip("\r\n")) :]
            shown.append(f"{name}: {MASK}{end}" if is_cookie else line)
        elif not is_cookie:
            shown.append(line)
    return "".join(shown)


def masked_request(request: bytes, names: Set[str]) -> bytes:
    """A request as sent, without the values of secret headers. `names`: further secret headers, in
    lower case.
    """
    head, end, body = request.partition(b"\r\n\r\n")
    lines = [_masked_line(line, names | SECRET_HEADERS) for line in head.split(b"\r\n")]
    return b"\r\n".join(lines) + end + body


def _masked_line(line: bytes, names: Set[str]) -> bytes:
    name, mark, _ = line.partition(b":")
    return name + b": " + HIDDEN if mark and name.decode("latin-1").lower() in names else line


#: a secret: a field of an order, and a key in the field's table
Secret = tuple[str, str]


def origins_of(seeds: Iterable[Address]) -> frozenset[str]:
    """Scheme, name and port of seeds (RFC 6454), as `Address.origin` spells them.

    A seed with http includes the same name with https, each at its usual port, since sites redirect
    there, and https exposes nothing more to the network.
    """
    usual = "http", WEB_PORTS["http"]
    named, safer = set(), set()
    for seed in seeds:
        named.add(seed.origin)
        if (seed.scheme, seed.port) == usual:
            safer.add(f"https://{seed.hostname}")
    return frozenset(named | safer)


@dataclass(frozen=True)
class Recipients:
    #: the origins to which every secret may be sent, because the order was written as a whole
    origins: frozenset[str] = frozenset()
    #: the origins to which each secret may be sent
    bound: Mapping[Secret, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of_seeds(cls, seeds: Iterable[Address]) -> Recipients:
        return cls(origins_of(seeds))

    def may_have_all(self, address: Address) -> bool:
        """Whether every secret may be sent with a request for the URL."""
        return address.origin in self.origins

    def may_have_header(self, name: str, address: Address) -> bool:
        """Whether a secret header is sent with a request for the URL."""
        return self._may_have(("headers", name), address)

    def may_have_password(self, address: Address) -> bool:
        """Whether the order's credentials for the URL's host are sent there.

        They are sent over TLS whenever the order names the host. By http and ftp, which do not
        encrypt, they are sent only if they were given for that scheme.
        """
        return address.scheme == "https" or self._may_have(
            ("credentials", address.host_key), address
        )

    def may_have_login(self, names: Iterable[str], address: Address) -> bool:
        """Whether these fields are filled in on the login page at the URL."""
        return all(self._may_have(("login_fields", name), address) for name in names)

    def _may_have(self, secret: Secret, address: Address) -> bool:
        return self.may_have_all(address) or address.origin in self.bound.get(secret, ())
