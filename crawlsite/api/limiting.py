"""How often a program may ask: so many requests in each minute of the clock, counted in Redis for all web processes together."""

from __future__ import annotations

import logging
from hashlib import sha256
from time import time

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from ninja.errors import Throttled
from ninja.throttling import BaseThrottle
from redis.exceptions import RedisError

from crawlsite.logins import visitor_address

logger = logging.getLogger(__name__)

MINUTE = 60
#: of these an address may send so many in a minute: tokens that open nothing are guesses or leftovers
WRONG_TOKENS = 30


class RequestsAMinute(BaseThrottle):
    """By token, or by user where a session asks."""

    def allow_request(self, request: HttpRequest) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        is_token = scheme.lower() == "bearer"  # as `Token` reads it: whatever else stands there is nobody's, and must not be counted apart
        who = f"token/{sha256(token.encode(errors='replace')).hexdigest()}" if is_token else f"user/{request.user.pk}"
        return _counted(who) <= settings.API_REQUESTS_A_MINUTE

    def wait(self) -> float:
        return seconds_left()


def count_wrong_token(request: HttpRequest) -> None:
    """Raises Throttled once the address has sent too many in this minute."""
    if _counted(f"wrong/{visitor_address(request)}") > WRONG_TOKENS:
        raise Throttled(wait=seconds_left())


def seconds_left() -> int:
    """Until the clock's next minute, at least one."""
    return MINUTE - int(time()) % MINUTE


def _counted(who: str) -> int:
    """How many this is in the present minute. Each count ends with its minute, so that there are never many; without Redis all may ask."""
    key = f"api/{who}/{int(time()) // MINUTE}"
    try:
        return 1 if cache.add(key, 1, timeout=2 * MINUTE) else cache.incr(key)
    except (RedisError, ValueError) as error:  # a ValueError: Redis lost the count in between
        logger.warning("a request could not be counted", extra={"error": str(error)})
        return 0
