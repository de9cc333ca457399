"""What a site's robots.txt allows (RFC 9309)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from protego import Protego

#: more than this is not read (RFC 9309, section 2.5, asks for at least 500 KiB)
MAX_ROBOTS_BYTES = 500 * 1024
#: each costs another reading of the file
MOST_LINES_TRIED = 100
#: a site has one, or an index of them
MOST_SITEMAPS = 1000
BYTE_ORDER_MARK = "\ufeff"
AGENT_LINE = re.compile(r"(\s*user[- ]?agent\s*[:\s]\s*)([^#]*)", re.IGNORECASE)
PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]*")


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
    def sitemaps(self) -> list[str]:
        """Where the site's sitemaps are, as they are written; they hold for everybody (sitemaps.org)."""
        return list(islice(self.rules.sitemaps, MOST_SITEMAPS)) if self.rules else []

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
        return Robots(Protego.parse("\n".join(_exact(line, token) for line in text.splitlines())), token)
    if 400 <= status < 500:
        return Robots(None, token)
    return Robots(None, token, unavailable=status)


def forbidding_line(body: bytes, token: str, url: str) -> str:
    """The line that keeps us from a URL; "" if none does, or only one far down in a long file.

    A URL is forbidden if and only if one Disallow line would forbid it with all other such lines gone.
    """
    lines = body[:MAX_ROBOTS_BYTES].decode("utf-8", errors="replace").splitlines()
    refusing = [number for number, line in enumerate(lines) if line.strip().lower().startswith("disallow")]
    for one in refusing[:MOST_LINES_TRIED]:
        left = [line if number == one or number not in refusing else "Disallow:" for number, line in enumerate(lines)]
        if not read_robots(200, "\n".join(left).encode(), token).allows(url):
            return lines[one].strip()
    return ""


def _exact(line: str, token: str) -> str:
    """Write the name in a User-agent line so that Protego finds it if, and only if, it is our token (section 2.2.1).

    Left alone, it takes rules for `crawl` as meant for `crawlsite` too, and those for `crawlsite/1.0` for somebody else's.
    """
    match = AGENT_LINE.match(line)
    if not match or match[2].strip() == "*":
        return line
    name = PRODUCT_TOKEN.match(match[2])
    is_ours = name is not None and name[0].lower() == token.lower()
    return match[1] + (token if is_ours else "/")
