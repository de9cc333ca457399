"""The address of a client, and its number of requests in this minute of the clock: counted in Redis
for all web processes together. Pages that need no account have addresses that are secrets, and each
opens a limited number of times a minute.
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
    """The client's address; of IPv6 its network, as a client can have very many addresses there.

    Behind a proxy it is the last of X-Forwarded-For, since clients can make up those before it. If
    that is no address it is the proxy's.
    """
    told = request.headers.get("X-Forwarded-For", "") if settings.BEHIND_HTTPS else ""
    asking = str(request.META.get("REMOTE_ADDR", ""))
    address = parsed_address(told.rpartition(",")[2]) or parsed_address(asking)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, NETWORK_BITS), strict=False).network_address)
    return str(address or asking)


def parsed_address(text: str) -> IPv4Address | IPv6Address | None:
    """As proxies write it: alone, with a port, or in brackets; None if it is none."""
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
    """The number of the minute of the clock."""
    return int(time()) // MINUTE


def seconds_left() -> int:
    """Until the clock's next minute, at least one."""
    return MINUTE - int(time()) % MINUTE


def counted(who: str) -> int:
    """How many this is in the present minute.

    Each count ends with its minute, so that there are never many; without Redis all may ask.
    """
    key = f"api/{who}/{this_minute()}"
    try:
        return 1 if cache.add(key, 1, timeout=2 * MINUTE) else cache.incr(key)
    except (RedisError, ValueError) as error:  # a ValueError: Redis lost the count in between
        logger.warning("a request could not be counted", extra={"error": str(error)})
        return 0


#: neither kept by caches, nor listed by search engines; the address is a secret, so links from here
#: do not send it
HEADERS = {
    "Cache-Control": "private, no-store",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
#: such pages that an address may ask for in a minute, whether there is one
SHARED_REPORTS = 60


def exceeds_shared_reports(request: HttpRequest) -> bool:
    """Whether its address has opened too many share links in this minute; counts this one."""
    return counted(f"shared/{visitor_address(request)}") > SHARED_REPORTS
