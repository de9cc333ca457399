"""Whether seeds can be crawled at all, before anything is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from crawling.access import allowed_directories, allowed_networks, identity
from crawling.fetchers.files import below
from crawling.rules.addresses import Address, read_address
from crawling.rules.orders import CrawlOrder
from crawling.rules.seeds import in_short
from dnscache.errors import DnsCacheError
from dnscache.names import read_host

WHO_ARE_YOU = (
    "before the first crawl of a real site say who you are, so that its owner can reach you: "
    "on the page for a new crawl, with python manage.py identify PRODUCT CONTACT-URL, or in the admin site under Identity"
)


def seed_errors(order: CrawlOrder) -> dict[str, str]:
    """The mistakes of `seed_mistakes` as one of an order's fields."""
    mistakes = seed_mistakes([read_address(seed) for seed in order.seeds])
    return {"seeds": in_short(mistakes)} if mistakes else {}


def seed_mistakes(addresses: Sequence[Address]) -> list[str]:
    """A name that can never be resolved is told now; a real site is not crawled by somebody who cannot be reached."""
    allowed, directories = allowed_networks(), allowed_directories()
    is_of_our_own, mistakes = True, []
    for address in addresses:
        if address.scheme == "file":
            if below(unquote_to_bytes(address.target.partition("?")[0]), directories) is None:
                mistakes.append(f"{address.url} is below no directory that an administrator has allowed")
            continue
        try:
            host = read_host(address.hostname)
        except DnsCacheError as error:
            mistakes.append(f"{address.url}: {error}")
            continue
        is_of_our_own = is_of_our_own and host.is_literal and any(row.covers(host.text, address.port) for row in allowed)
    return mistakes if is_of_our_own or mistakes or identity().contact_url else [WHO_ARE_YOU]
