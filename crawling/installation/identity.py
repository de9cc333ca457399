"""Administrators' settings for all crawls: the identity that is sent with each request, and the
addresses beyond the public internet that crawls may fetch from.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_network

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from crawling.base.audit import record_action
from crawling.models import AllowedDirectory, AllowedNetwork, Identity, SharedNetwork, TrustedProxy
from crawling.models.access import forbidden_parent_of
from crawling.web.proxies import Proxy, read_proxy
from crawling.web.vetting import AllowedRange, DialPolicy

Network = IPv4Network | IPv6Network
#: a row by which an administrator allows crawls to use addresses that are otherwise forbidden
AccessRule = AllowedNetwork | AllowedDirectory | SharedNetwork | TrustedProxy
#: the kinds of access rules, by the name that pages and JSON use
ACCESS_RULES: dict[str, type[AccessRule]] = {
    "networks": AllowedNetwork,
    "directories": AllowedDirectory,
    "proxies": TrustedProxy,
    "shared": SharedNetwork,
}


def allowed_networks() -> list[AllowedRange]:
    """The addresses that administrators have allowed beyond the public ones."""
    rows = AllowedNetwork.objects.all()
    return [AllowedRange(ip_network(row.network), row.port_from, row.port_to) for row in rows]


def dial_policy() -> DialPolicy:
    """The policy on addresses for connections. Our own services are never allowed."""
    return DialPolicy(tuple(allowed_networks()), settings.OWN_SERVICES)


def proxy_of(text: str | None) -> Proxy | None:
    """The proxy that an order names, and whether administrators trust the proxy."""
    if not text:
        return None
    proxy = read_proxy(text)
    is_trusted = (
        proxy.scheme == "http"
        and TrustedProxy.objects.filter(host=proxy.host, port=proxy.port).exists()
    )
    return replace(proxy, is_trusted=is_trusted)


def shared_networks() -> list[Network]:
    """The networks whose addresses have no politeness clock."""
    return [ip_network(text) for text in SharedNetwork.objects.values_list("network", flat=True)]


def allowed_directories() -> list[str]:
    """The directories below which `file:` URLs may be fetched. Directories that lead to forbidden
    places are left out.

    This is checked each time, since a link may have been created, or a setting changed, after the
    row was written.
    """
    paths = AllowedDirectory.objects.values_list("path", flat=True)
    return [path for path in paths if not forbidden_parent_of(path)]


def identity() -> Identity:
    """The current identity. An empty one before an administrator has set it."""
    return Identity.objects.filter(pk=1).first() or Identity(pk=1)


@transaction.atomic
def set_identity(
    product_token: str,
    contact_url: str,
    *,
    purpose: str | None = None,
    addresses: str | None = None,
    by: User | None = None,
) -> Identity:
    """Set the identity. None leaves a field unchanged.

    Raises ValidationError with messages by field; then nothing has changed. An empty contact is
    refused, too, since no public site is fetched without one.
    """
    if not contact_url.strip():
        raise ValidationError({"contact_url": "Enter a page (https://…) or an e-mail address."})
    with transaction.atomic():
        Identity.objects.get_or_create(pk=1)
        row = Identity.objects.select_for_update().get(pk=1)
        before = {"user_agent": row.user_agent, "purpose": row.purpose, "addresses": row.addresses}
        row.product_token, row.contact_url = product_token, full_contact(contact_url)
        row.purpose = row.purpose if purpose is None else purpose
        row.addresses = row.addresses if addresses is None else addresses
        row.clean_fields()
        row.clean()
        row.save()
        after = {name: getattr(row, name) for name in before}
        record_action(by, row, "changed", {name: (before[name], after[name]) for name in before})
    return row


def full_contact(text: str) -> str:
    """An e-mail address as the URL that requests contain. Any other text is returned unchanged."""
    is_mailbox = "@" in text and "://" not in text and not text.lower().startswith("mailto:")
    return f"mailto:{text}" if is_mailbox else text


def add_access_rule(row: AccessRule, *, by: User | None) -> None:
    """Add an access rule. Raises ValidationError with messages by field."""
    with transaction.atomic():
        row.full_clean()
        row.save(force_insert=True)
        record_action(by, row, f"added the {row._meta.verbose_name}")


def remove_access_rule(row: AccessRule, *, by: User | None) -> None:
    """Remove an access rule. It no longer applies from the next fetch on."""
    with transaction.atomic():
        record_action(by, row, f"removed the {row._meta.verbose_name}")
        row.delete()
