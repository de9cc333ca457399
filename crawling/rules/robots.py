"""What a site's robots.txt allows (RFC 9309)."""

from __future__ import annotations

from dataclasses import dataclass

from protego import Protego

#: more than this is not read (RFC 9309, section 2.5, asks for at least 500 KiB)
MAX_ROBOTS_BYTES = 500 * 1024
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one origin, as they hold for one product token.

    unavailable: 0, or the status that stands between us and the rules: nothing may be fetched for now.
    """

    rules: Protego | None
    token: str
    unavailable: int = 0

    def allows(self, url: str) -> bool:
        return self.rules is None or bool(self.rules.can_fetch(url, self.token))

    @property
    def crawl_delay(self) -> float | None:
        return self.rules.crawl_delay(self.token) if self.rules else None


def read_robots(status: int, body: bytes, token: str) -> Robots:
    """Return the rules that follow from the answer to a request for robots.txt.

    4xx: everything is allowed. 5xx and everything that is no answer: nothing may be fetched for now
    (sections 2.3.1.3 and 2.3.1.4). `token` is the bare product token, without a version.
    """
    if 200 <= status < 300:
        text = body[:MAX_ROBOTS_BYTES].decode("utf-8", errors="replace").removeprefix(BYTE_ORDER_MARK)
        return Robots(Protego.parse(text), token)
    if 400 <= status < 500:
        return Robots(None, token)
    return Robots(None, token, unavailable=status)
