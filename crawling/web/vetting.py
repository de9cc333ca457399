"""The addresses of a name to which connections are allowed.

Public addresses are always allowed, others only if an administrator allows their network and port,
and our own services never. Every connection is checked, also after a redirect, since an allowed DNS
answer says nothing about the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address

from dnscache.protocol.addresses import AddressClass, classify, plain_address

#: Addresses that are never allowed, even within an allowed network: on Linux 0.0.0.0 and :: reach
#: this machine's own services, and a multicast address is no host.
_NEVER = frozenset({AddressClass.UNSPECIFIED, AddressClass.MULTICAST})
#: ports of other services, which could read requests as commands (WHATWG Fetch, port blocking),
#: except the ports of FTP
# fmt: off
BAD_PORTS = frozenset((
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
    101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161,
    179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563,
    587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
    5061, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
))
# fmt: on
_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True)
class AllowedRange:
    """An administrator's permission for a network and a range of ports, both ends included."""

    network: IPv4Network | IPv6Network
    port_from: int
    port_to: int

    def covers(self, address: str, port: int) -> bool:
        return self.port_from <= port <= self.port_to and ip_address(address) in self.network


@dataclass(frozen=True)
class DialPolicy:
    """The addresses to which a crawl may connect. Our own services are never among them."""

    #: the ranges that administrators allow besides public addresses
    allowed: tuple[AllowedRange, ...] = ()
    forbidden: frozenset[tuple[str, int]] = frozenset()

    def vet(self, addresses: Sequence[str], port: int) -> Vetted:
        return vet(addresses, port, allowed=self.allowed, forbidden=self.forbidden)

    def plus(self, allowed: Iterable[AllowedRange]) -> DialPolicy:
        return replace(self, allowed=(*self.allowed, *allowed))


@dataclass(frozen=True)
class Vetted:
    #: in the order given, in the spelling to dial
    permitted: tuple[str, ...]
    #: the reason why no address is permitted, as a sentence
    reason: str = ""


def vet(
    addresses: Sequence[str],
    port: int,
    *,
    allowed: Iterable[AllowedRange],
    forbidden: frozenset[tuple[str, int]],
) -> Vetted:
    """Return the addresses to which connections on this port are allowed.

    Recent results are reused.

    forbidden: the addresses and ports at which our own services listen. A service on 0.0.0.0 or ::
    forbids its port on every address that is not public.
    """
    return _vet_uncached(tuple(addresses), port, tuple(allowed), forbidden)


@lru_cache(maxsize=4096)
def _vet_uncached(
    addresses: tuple[str, ...],
    port: int,
    permissions: tuple[AllowedRange, ...],
    forbidden: frozenset[tuple[str, int]],
) -> Vetted:
    permitted: list[str] = []
    refusals: list[str] = []
    for address in dict.fromkeys(plain_address(raw) for raw in addresses):
        refusal = _reason_to_refuse(address, port, permissions, forbidden)
        if refusal:
            refusals.append(refusal)
        else:
            permitted.append(address)
    if permitted:
        return Vetted(tuple(permitted))
    return Vetted((), "; ".join(refusals) if refusals else "the name has no address")


def _reason_to_refuse(
    address: str,
    port: int,
    allowed: tuple[AllowedRange, ...],
    forbidden: frozenset[tuple[str, int]],
) -> str:
    """The reason why the address is not allowed, or ""."""
    kind = classify(address)
    if (address, port) in forbidden:
        return f"{address} port {port} is a service of this site itself"
    if kind is AddressClass.PUBLIC:
        is_bad = port in BAD_PORTS and not any(
            permission.covers(address, port) for permission in allowed
        )
        return f"port {port} is another service's than the web's" if is_bad else ""
    if any((everywhere, port) in forbidden for everywhere in _EVERY_ADDRESS):
        return f"{address} port {port} may be a service of this site itself"
    if kind in _NEVER:
        return f"{address} is {_describe_address_class(kind)}: no host has it"
    if not any(permission.covers(address, port) for permission in allowed):
        return (
            f"{address} is {_describe_address_class(kind)} and no administrator has allowed it "
            f"on port {port}"
        )
    return ""


def _describe_address_class(kind: AddressClass) -> str:
    return (
        f"a {kind.replace('_', '-')} address"
        if kind is not AddressClass.UNSPECIFIED
        else "an unspecified address"
    )
