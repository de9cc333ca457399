"""Whether seeds can be crawled at all, before anything is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from crawling.installation import allowed_directories, allowed_networks, identity
from crawling.orders.order import CrawlOrder
from crawling.orders.seeds import in_short
from crawling.web.addresses import Address, read_address
from crawling.web.fetch.files import below
from dnscache.protocol.names import DnsCacheError, read_host

NO_CONTACT = (
    "is needed before the first crawl of a real site, so that its owner can reach you: "
    "a page about the crawl (https://…) or a mailbox (mailto:…). "
    "On the command line: python manage.py identify PRODUCT CONTACT-URL"
)


def seed_errors(order: CrawlOrder) -> dict[str, str]:
    """The mistakes of the seeds and a missing contact, by field of the form."""
    addresses = [read_address(seed) for seed in order.seeds]
    if mistakes := seed_mistakes(addresses):
        return {"seeds": in_short(mistakes)}
    return {"contact_url": NO_CONTACT} if lacks_contact(addresses) else {}


def lacks_contact(addresses: Sequence[Address]) -> bool:
    """Whether one of the addresses is a real site and no contact is set.

    The addresses have no mistakes.

    Files and addresses that an administrator has allowed are not real sites.
    """
    if identity().contact_url:
        return False
    allowed = allowed_networks()
    hosts = [(read_host(each.hostname), each.port) for each in addresses if each.scheme != "file"]
    return any(
        not host.is_literal or not any(row.covers(host.text, port) for row in allowed)
        for host, port in hosts
    )


def seed_mistakes(addresses: Sequence[Address]) -> list[str]:
    """Names that can never be resolved, and files outside the allowed directories."""
    directories, mistakes = allowed_directories(), []
    for address in addresses:
        if address.scheme == "file":
            if below(unquote_to_bytes(address.target.partition("?")[0]), directories) is None:
                mistakes.append(
                    f"{address.url} is below no directory that an administrator has allowed"
                )
            continue
        try:
            read_host(address.hostname)
        except DnsCacheError as error:
            mistakes.append(f"{address.url}: {error}")
    return mistakes
