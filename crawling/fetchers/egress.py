"""The way out: straight to a vetted address, or through a proxy to exactly that address."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from crawling.rules.proxies import Proxy


@dataclass(frozen=True, slots=True)
class Way:
    """A proxy, and the vetted address at which it is."""

    proxy: Proxy
    address: str

    @property
    def url(self) -> str:
        """As requests and libcurl are told of proxies: with its address for its name, so that nothing is looked up."""
        proxy = self.proxy
        login = f"{quote(proxy.user, safe='')}:{quote(proxy.password, safe='')}@" if proxy.user else ""
        return f"{proxy.scheme}://{login}{bracketed(self.address)}:{proxy.port}"


def bracketed(address: str) -> str:
    """An address as URLs have it."""
    return f"[{address}]" if ":" in address else address
