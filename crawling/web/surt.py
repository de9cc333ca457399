"""The keys of an archive's index: URLs turned so that a domain's pages sort together."""

from __future__ import annotations

from crawling.web.addresses import DEFAULT_PORTS, Address


def surt(address: Address) -> str:
    """`com,example,www)/path?query` for `http://www.example.com/Path?query`; a port that is not the
    scheme's own stands after the name.
    """
    host = address.hostname
    is_number = ":" in host or host.rpartition(".")[2].isdigit()
    turned = host if is_number else ",".join(reversed(host.split(".")))
    port = "" if address.port == DEFAULT_PORTS[address.scheme] else f":{address.port}"
    path = "/" + address.url.split("/", 3)[3]
    return f"{turned}{port}){path}".lower()
