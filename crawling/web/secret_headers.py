"""An order's secret headers: which URLs they may be sent to, and how they look where they must
not be seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

from crawling.web.addresses import Address
from crawling.web.protocols import WEB_PORTS

MASK = "•••"
#: in archives, which are bytes
HIDDEN = b"(not kept)"
#: never kept, from whatever source
SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
#: of answers: who has their values is taken for the crawl
SET_COOKIE = frozenset({"set-cookie", "set-cookie2"})
PASSWORD = re.compile(r"(?<=//)([^/@:]*):[^/@]*@")
#: a URL's user name and password, whichever there are
USER_INFORMATION = re.compile(r"(?<=//)[^/?#]*@")


def masked_url(url: str) -> str:
    """A URL without its password."""
    return PASSWORD.sub(rf"\1:{MASK}@", url)


def masked_head(head: str) -> str:
    """The head of an answer without the values of cookies, those in folded lines among them."""
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
    """A request as it was sent, but for the values of secret headers, those of `names` (in small
    letters) among them.
    """
    head, end, body = request.partition(b"\r\n\r\n")
    lines = [_masked_line(line, names | SECRET_HEADERS) for line in head.split(b"\r\n")]
    return b"\r\n".join(lines) + end + body


def _masked_line(line: bytes, names: Set[str]) -> bytes:
    name, mark, _ = line.partition(b":")
    return name + b": " + HIDDEN if mark and name.decode("latin-1").lower() in names else line


@dataclass(frozen=True)
class Recipients:
    """A seed by http stands for the same name by https, too, each at its usual port: sites lead
    there, and it discloses nothing more on the line.
    """

    #: scheme, name and port of the seeds (RFC 6454), as `Address.origin` spells them
    origins: frozenset[str] = frozenset()

    @classmethod
    def of_seeds(cls, seeds: Iterable[Address]) -> Recipients:
        named = {seed.origin for seed in seeds}
        usual = "http", WEB_PORTS["http"]
        safer = {f"https://{seed.hostname}" for seed in seeds if (seed.scheme, seed.port) == usual}
        return cls(frozenset(named | safer))

    def may_have_headers(self, address: Address) -> bool:
        """Whether secret headers are sent with a request for the URL."""
        return address.origin in self.origins

    def may_have_password(self, address: Address) -> bool:
        """Whether the credentials that the order has for the URL's host are sent there.

        Encrypted they are wherever the order names the host; by http and ftp, which send them in
        clear, only where a seed has that scheme.
        """
        return address.scheme == "https" or address.origin in self.origins
