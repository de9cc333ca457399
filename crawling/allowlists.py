"""Where beyond the public internet crawls may go, as administrators set it."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.conf import settings

from crawling.models import AllowedDirectory, AllowedNetwork, SharedNetwork, TrustedProxy
from crawling.models.access import closed_to_crawls
from crawling.web.proxies import Proxy, read_proxy
from crawling.web.vetting import AllowedRange, DialPolicy

Network = IPv4Network | IPv6Network


def allowed_networks() -> list[AllowedRange]:
    """What administrators have allowed beyond public addresses."""
    rows = AllowedNetwork.objects.all()
    return [AllowedRange(ip_network(row.network), row.port_from, row.port_to) for row in rows]


def dial_policy() -> DialPolicy:
    """Where fetches may go: never to our own services."""
    return DialPolicy(tuple(allowed_networks()), settings.OWN_SERVICES)


def proxy_of(text: str | None) -> Proxy | None:
    """The proxy that an order names, and whether administrators trust it."""
    if not text:
        return None
    proxy = read_proxy(text)
    is_trusted = (
        proxy.scheme == "http"
        and TrustedProxy.objects.filter(host=proxy.host, port=proxy.port).exists()
    )
    return replace(proxy, is_trusted=is_trusted)


def shared_networks() -> list[Network]:
    """Whose addresses keep no clock."""
    return [ip_network(text) for text in SharedNetwork.objects.values_list("network", flat=True)]


def allowed_directories() -> list[str]:
    """Below which `file:` URLs may be fetched, without those that lead where crawls must not.

    Looked at each time: a link may have been made, or a setting changed, since the row was written.
    """
    paths = AllowedDirectory.objects.values_list("path", flat=True)
    return [path for path in paths if not closed_to_crawls(path)]
