"""The kind of network that an address belongs to. Pure.

`ipaddress.is_global` alone accepts multicast, site-local, documentation and embedded loopback
addresses, so the rule here is stricter. An address that embeds another one (mapped, compatible,
NAT64, 6to4, Teredo) is public only if the embedded one is.
"""

from __future__ import annotations

import ipaddress
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

Address = IPv4Address | IPv6Address


class AddressClass(StrEnum):
    """The class of an address; only PUBLIC is fetched from without an administrator's
    permission.
    """

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    LINK_LOCAL = "link_local"
    UNSPECIFIED = "unspecified"
    MULTICAST = "multicast"
    RESERVED = "reserved"


#: Networks that IANA lists as special and yet as global, or that some versions of `ipaddress` from
#: Python 3.11 to 3.14 do not know.
_RESERVED = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation, as are the next two
        "198.51.100.0/24",
        "203.0.113.0/24",
        "192.88.99.0/24",  # 6to4 relays, withdrawn (RFC 7526)
        "198.18.0.0/15",  # benchmarks
        "240.0.0.0/4",
        "100::/64",  # discard only
        "2001::/23",  # protocol assignments, with Teredo and ORCHID
        "2001:db8::/32",
        "3fff::/20",  # documentation (RFC 9637)
        "5f00::/16",  # segment routing (RFC 9602)
        "fec0::/10",  # site local, withdrawn (RFC 3879)
    )
)
#: Networks that are public by registration, but used by cloud platforms inside their customers'
#: networks: for agents and endpoints that trust every client. Addresses of other platforms are
#: special already: 169.254.0.0/16, 100.100.100.200, 192.0.0.192, fd00:ec2::254, fd20:ce::254.
_PLATFORMS = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # Azure's agent (WireServer), DNS and health probes
        "161.26.0.0/16",  # IBM Cloud's own services, as is the next network
        "166.8.0.0/14",
    )
)
_CARRIER_NAT = ipaddress.ip_network("100.64.0.0/10")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.ip_network("::/96")


@lru_cache(maxsize=65536)
def classify(address: str) -> AddressClass:
    """The class of an address. For an address that embeds another, the class of the embedded one,
    unless that is public.

    An embedded public address is PUBLIC for mapped and NAT64 spellings, which reach it, and
    RESERVED for the obsolete ones. Raises ValueError if the text is not an address.
    """
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, IPv4Address):
        return _plain_class(parsed)
    embedded = [_plain_class(inner) for inner in _embedded_addresses(parsed)]
    inside = next((kind for kind in embedded if kind is not AddressClass.PUBLIC), None)
    if inside:
        return inside
    if embedded and (parsed.ipv4_mapped is not None or parsed in _NAT64):
        return AddressClass.PUBLIC
    return AddressClass.RESERVED if embedded else _plain_class(parsed)


def plain_address(address: str) -> str:
    """Return the address in the one spelling that a socket would connect to: `::ffff:127.0.0.1` is
    127.0.0.1.

    Raises ValueError if the text is not an address or names an interface (`fe80::1%eth0`).
    """
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, IPv6Address):
        if parsed.scope_id is not None:
            raise ValueError(f"{address!r} names an interface of this machine")
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
    return str(parsed)


def _embedded_addresses(address: IPv6Address) -> list[IPv4Address]:
    value = int(address)
    low = IPv4Address(value & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.teredo is not None:
        return list(address.teredo)
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address in _NAT64 or (address in _COMPATIBLE and value > 1):
        return [low]
    return []


def _plain_class(address: Address) -> AddressClass:
    """The class of an address that embeds no other. The order counts, since `ipaddress` also calls
    loopback and link-local addresses private.
    """
    special = (
        (address.is_unspecified, AddressClass.UNSPECIFIED),
        (address.is_loopback, AddressClass.LOOPBACK),
        (address.is_link_local, AddressClass.LINK_LOCAL),
        (address.is_multicast, AddressClass.MULTICAST),
        (
            any(address in network for network in _RESERVED if network.version == address.version),
            AddressClass.RESERVED,
        ),
        (address in _NAT64_LOCAL or address in _CARRIER_NAT, AddressClass.PRIVATE),
        (any(address in network for network in _PLATFORMS), AddressClass.PRIVATE),
        (address.is_private, AddressClass.PRIVATE),
        (address.is_reserved or not address.is_global, AddressClass.RESERVED),
    )
    return next((kind for holds, kind in special if holds), AddressClass.PUBLIC)
