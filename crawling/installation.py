"""What administrators set for all crawls: the identity that is sent with each request, and where
crawls may go beyond the public internet.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from crawling.audit import note
from crawling.models import AllowedDirectory, AllowedNetwork, Identity, SharedNetwork, TrustedProxy
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


def identity() -> Identity:
    """The identity as it stands; one that says nothing yet until somebody sets it."""
    return Identity.objects.filter(pk=1).first() or Identity(pk=1)


@transaction.atomic
def set_identity(product_token: str, contact_url: str, *, by: User | None = None) -> Identity:
    """Say who crawls. Raises ValidationError with a message by field."""
    before = identity()
    row = Identity(pk=1, product_token=product_token, contact_url=contact_url)
    row.clean_fields()
    row.save()
    note(by, row, "changed", {"user_agent": (before.user_agent, row.user_agent)})
    return row
