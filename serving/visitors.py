"""The address of a client, and its number of requests in the current minute: counted in Redis for
all web processes together. Pages that need no account have secret addresses, and each client may
open a limited number of them a minute.
"""

from __future__ import annotations

import logging
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from time import time

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

#: the bits of the network of one client
NETWORK_BITS = 64
MINUTE = 60


def visitor_address(request: HttpRequest) -> str:
    """The client's address; for IPv6 its network, since a client can have very many addresses
    there.

    Behind a proxy this is the last address of X-Forwarded-For, since clients can make up those
    before it. If that is not an address, the proxy's is used.
    """
    told = request.headers.get("X-Forwarded-For", "") if settings.BEHIND_HTTPS else ""
    asking = str(request.META.get("REMOTE_ADDR", ""))
    address = parsed_address(told.rpartition(",")[2]) or parsed_address(asking)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, NETWORK_BITS), strict=False).network_address)
    return str(address or asking)


def parsed_address(text: str) -> IPv4Address | IPv6Address | None:
    """The address in one of the spellings of proxies: alone, with a port, or in brackets; None if
    the text is not an address.
    """
    text = text.strip().strip('"')
    port = ""
    if text.startswith("[") and "]" in text:
        text, _, port = text[1:].partition("]")
    elif text.count(":") == 1:
        text, colon, number = text.partition(":")
        port = colon + number
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if port and not (port.startswith(":") and port[1:].isdecimal()):
        return None
    return getattr(address, "ipv4_mapped", None) or address


def this_minute() -> int:
    """The number of the current minute."""
    return int(time()) // MINUTE


def seconds_left() -> int:
    """The seconds until the next minute, at least one."""
    return MINUTE - int(time()) % MINUTE


def count_request(who: str) -> int:
    """Count a request, and return the number of requests in the current minute.

    Each count ends with its minute, so that there are never many; without Redis all requests are
    allowed.
    """
    key = f"api/{who}/{this_minute()}"
    try:
        return 1 if cache.add(key, 1, timeout=2 * MINUTE) else cache.incr(key)
    # a ValueError means that Redis lost the count in between
    except (RedisError, ValueError) as error:
        logger.warning("a request could not be counted", extra={"error": str(error)})
        return 0


#: such pages are neither kept by caches, nor listed by search engines; the address is a secret, so
#: browsers do not send it with links from here
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
#: the number of such pages, existing or not, that an address may ask for in a minute
SHARED_REPORTS = 60


def exceeds_shared_reports(request: HttpRequest) -> bool:
    """Whether this address has opened too many share links in this minute; this request is
    counted.
    """
    return count_request(f"shared/{visitor_address(request)}") > SHARED_REPORTS
