"""Checks of seeds before a crawl is created: whether they can be crawled at all."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_network
from urllib.parse import unquote_to_bytes

from django.contrib.auth.models import User

from allocation.wording import whole_number
from crawling.installation.identity import (
    add_access_rule,
    allowed_directories,
    allowed_networks,
    dial_policy,
    identity,
)
from crawling.models import AllowedNetwork
from crawling.orders.order import CrawlOrder
from crawling.orders.seeds import mistakes_in_short
from crawling.web.addresses import Address, BadUrl, read_address
from crawling.web.fetch.files import split_allowed_path
from crawling.web.vetting import AllowedRange
from dnscache import store
from dnscache.protocol.addresses import AddressClass, classify
from dnscache.protocol.names import DnsCacheError, HostName, read_host

NO_CONTACT = (
    "is required before the first crawl of a public site, so that its owner can reach you: "
    "a page about the crawl (https://…) or an e-mail address. "
    "On the command line: python manage.py identify PRODUCT CONTACT-URL"
)
#: the most names of seeds whose addresses are shown before a crawl is created
MOST_NAMES = 100
#: the age in seconds up to which a name server's answer is good enough for a warning
KNOWN_SECONDS = 3600.0
#: the note of an access rule that was added on the form with the seeds
ALLOWED_HERE = "allowed on the form of a new crawl"


def seed_errors(order: CrawlOrder) -> dict[str, str]:
    """The mistakes of the seeds, including a missing contact, by field of the form."""
    addresses = [read_address(seed) for seed in order.seeds]
    if mistakes := seed_mistakes(addresses):
        return {"seeds": mistakes_in_short(mistakes)}
    return {"contact_url": NO_CONTACT} if is_contact_missing(addresses) else {}


def is_contact_missing(addresses: Iterable[Address]) -> bool:
    """Whether one of the addresses is a public site although no contact is set.

    The addresses have no mistakes.

    Files are no real sites, nor are addresses that are not public or that an administrator has
    allowed.
    """
    if identity().contact_url:
        return False
    allowed = allowed_networks()
    hosts = [(read_host(each.hostname), each.port) for each in addresses if each.scheme != "file"]
    return any(
        not host.is_literal
        or (
            classify(host.text) is AddressClass.PUBLIC
            and not any(row.covers(host.text, port) for row in allowed)
        )
        for host, port in hosts
    )


def valid_addresses(seeds: Iterable[str]) -> list[Address]:
    """The addresses of the seeds that could be fetched."""
    found = []
    for seed in seeds:
        with suppress(BadUrl):  # the scheme belongs to a package that is no longer installed
            found.append(read_address(seed))
    return [each for each in found if not seed_mistakes([each])]


def seed_mistakes(addresses: Sequence[Address]) -> list[str]:
    """Names that can never be resolved, and files outside the allowed directories."""
    directories, mistakes = allowed_directories(), []
    for address in addresses:
        if address.scheme == "file":
            if (
                split_allowed_path(unquote_to_bytes(address.target.partition("?")[0]), directories)
                is None
            ):
                mistakes.append(
                    f"{address.url} is below no directory that an administrator has allowed"
                )
            continue
        try:
            read_host(address.hostname)
        except DnsCacheError as error:
            mistakes.append(f"{address.url}: {error}")
    return mistakes


@dataclass(frozen=True)
class ClosedAddress:
    """An address of seeds that is not public and not allowed yet."""

    address: str
    port: int
    #: the reason why crawls may not use the address
    sentence: str
    #: the name that resolves to the address; empty if a seed has the address itself
    name: str = ""


def closed_addresses(seeds: Sequence[str]) -> list[ClosedAddress]:
    """The addresses that an administrator would have to allow before the seeds can be fetched.

    A name counts only if its addresses are known (see `unknown_names`). seeds: in canonical form.
    """
    policy, found = dial_policy(), dict[tuple[str, int], ClosedAddress]()
    known = known_addresses(names_of(seeds))
    for address in map(read_address, seeds):
        host = _host_of(address)
        if host is None:
            continue
        addresses = (host.text,) if host.is_literal else known.get(host.text, ())
        if not addresses or policy.vet(addresses, address.port).permitted:
            continue
        for one in addresses:
            reason = policy.vet([one], address.port).reason
            if is_allowable(one, address.port):
                name = "" if host.is_literal else host.text
                told = f"{reason}; it is the address of {name}" if name else reason
                closed = ClosedAddress(one, address.port, told, name)
                found.setdefault((one, address.port), closed)
    return list(found.values())


def unknown_names(seeds: Sequence[str]) -> list[str]:
    """Names of the seeds that were not looked up recently. seeds: in canonical form."""
    names = names_of(seeds)
    known = known_addresses(names)
    return [name for name in names if name not in known]


def names_of(seeds: Sequence[str]) -> list[str]:
    """The first MOST_NAMES names in seeds, each once. seeds: in canonical form."""
    hosts = filter(None, map(_host_of, map(read_address, seeds)))
    return list(dict.fromkeys(host.text for host in hosts if not host.is_literal))[:MOST_NAMES]


def _host_of(address: Address) -> HostName | None:
    """The name of a seed's host. None for a file, or for a name that is never looked up."""
    try:
        return read_host(address.hostname) if address.scheme != "file" else None
    except DnsCacheError:
        return None


def known_addresses(names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The known addresses of names. A name may have none."""
    since = time.time() - KNOWN_SECONDS
    known = store.read_answers(names)
    return {
        name: answer.reply.addresses for name, answer in known.items() if answer.resolved_at > since
    }


def is_allowable(address: str, port: int) -> bool:
    """Whether an access rule could allow this address, from which no crawl may fetch yet."""
    policy, rule = dial_policy(), AllowedRange(ip_network(address), port, port)
    is_closed = not policy.vet([address], port).permitted
    return is_closed and bool(policy.plus([rule]).vet([address], port).permitted)


def allow_port(asked: str, *, by: User) -> str:
    """Let crawls fetch from an address and a port, such as `127.0.0.1 80`. Return the text of the
    rule. Raises ValidationError.
    """
    address, _, port = asked.rpartition(" ")
    number = whole_number(port) or 0
    rule = AllowedNetwork(network=address, port_from=number, port_to=number, note=ALLOWED_HERE)
    add_access_rule(rule, by=by)
    return str(rule)
