"""The rules of a site's robots.txt (RFC 9309)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from protego import Protego

from crawling.web.addresses import BadUrl, read_address
from crawling.web.statuses import is_answer

#: the most bytes of a robots.txt that are read (RFC 9309, section 2.5, requires at least 500 KiB)
MAX_ROBOTS_BYTES = 500 * 1024
#: the most sitemaps of a robots.txt: a site has one, or a sitemap index
MOST_SITEMAPS = 1000
BYTE_ORDER_MARK = "\ufeff"
#: a User-agent line in each spelling that Protego accepts, with the name up to a comment
AGENT_LINE = re.compile(r"\s*+user(?:-|\s*+)agent(?:\s*+:|\s|\Z)([^#]*+)", re.IGNORECASE)
#: the records that end the User-agent lines of a group (RFC 9309, section 2.2.4)
RULE_LINE = re.compile(
    r"\s*+(?:allow|(disallow|dissallow|dissalow|disalow|diasllow|disallaw))(?:\s*+:|\s|\Z)",
    re.IGNORECASE,
)
SITEMAP_LINE = re.compile(r"\s*+site-?maps?+(?:\s*+:|\s|\Z)", re.IGNORECASE)
#: a Sitemap line with a relative address, and the place of its value
RELATIVE_SITEMAP = re.compile(
    rb"(?m)^([ \t]*+site-?maps?+[ \t]*+:[ \t]*+)(?![a-z][a-z0-9+.-]*+:)([^\s#]++)", re.IGNORECASE
)
PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]*+")
EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The rules of one origin for one product token."""

    rules: Protego | None
    token: str
    #: the status because of which the rules are unknown and nothing may be fetched for now, or 0
    unavailable: int = 0

    def allows(self, url: str) -> bool:
        return self.rules is None or bool(self.rules.can_fetch(url, self.token))

    @property
    def sitemaps(self) -> list[str]:
        """The site's sitemaps, as written. They apply to all crawlers (sitemaps.org)."""
        return list(islice(self.rules.sitemaps, MOST_SITEMAPS)) if self.rules else []

    @property
    def crawl_delay(self) -> float | None:
        return self.rules.crawl_delay(self.token) if self.rules else None


def read_robots(status: int, body: bytes, token: str) -> RobotsRules:
    """Return the rules that follow from the answer to a request for robots.txt.

    4xx: everything is allowed. 5xx and no answer: nothing may be fetched for now (sections 2.3.1.3
    and 2.3.1.4); as with Google, this includes an overloaded server. `token` is the bare product
    token, without a version.
    """
    if 200 <= status < 300:
        sitemaps, lines = _lines_for(body, token)
        return _parse_rules(sitemaps + lines, token)
    if is_answer(status):
        return RobotsRules(None, token)
    return RobotsRules(None, token, unavailable=status)


def resolve_sitemaps(body: bytes, address: str) -> bytes:
    """A robots.txt that was found at another address, with its sitemaps relative to that
    address.
    """

    def resolve_line(line: re.Match[bytes]) -> bytes:
        try:
            return line[1] + read_address(line[2].decode(errors="replace"), address).url.encode()
        except BadUrl:
            return line[0]

    return RELATIVE_SITEMAP.sub(resolve_line, body)


def forbidding_line(body: bytes, token: str, url: str) -> str:
    """The line that forbids a URL; "" if none does.

    A URL is forbidden if and only if a single Disallow line forbids it without all other Disallow
    lines. So of two halves of the lines, one alone forbids the URL.
    """
    allowing: list[str] = []
    refusing: list[str] = []
    for line in _lines_for(body, token)[1]:
        if rule := RULE_LINE.match(line):
            (refusing if rule[1] else allowing).append(line)
    if not _parse_rules(["Disallow: /", *allowing], token).allows(url):
        allowing = []  # no Allow line is about this URL
    if _parse_rules(allowing + refusing, token).allows(url):
        return ""
    while len(refusing) > 1:
        half = refusing[: len(refusing) // 2]
        refusing = (
            refusing[len(half) :] if _parse_rules(allowing + half, token).allows(url) else half
        )
    return refusing[0].strip()


def _parse_rules(lines: list[str], token: str) -> RobotsRules:
    return RobotsRules(Protego.parse("\n".join([f"User-agent: {token}", *lines])), token)


def _lines_for(body: bytes, token: str) -> tuple[list[str], list[str]]:
    """The Sitemap lines of a robots.txt, and the lines of the groups that apply to us (section
    2.2.1).

    Protego alone would apply rules for `crawl` to `crawlsite`, ignore rules for `crawlsite/1.0`,
    and split a group at a Crawl-delay line; its time grows with the product of names and rules.
    """
    text = body[:MAX_ROBOTS_BYTES].decode("utf-8", errors="replace")
    sitemaps: list[str] = []
    groups: list[tuple[set[str], list[str]]] = [(set(), [])]
    has_rules = False
    for line in text.removeprefix(BYTE_ORDER_MARK).splitlines():
        if agent := AGENT_LINE.match(line):
            if has_rules:
                groups.append((set(), []))
                has_rules = False
            groups[-1][0].add(_known_agent(agent[1].strip(), token))
        elif SITEMAP_LINE.match(line):
            sitemaps.append(line)
        elif groups[-1][0]:
            has_rules = has_rules or RULE_LINE.match(line) is not None
            groups[-1][1].append(line)
    ours = token if any(token in names for names, _ in groups) else EVERYBODY
    return sitemaps, [line for names, lines in groups if ours in names for line in lines]


def _known_agent(written: str, token: str) -> str:
    """`*`, our token, or "" for any other name (section 2.2.1)."""
    if written == EVERYBODY:
        return EVERYBODY
    name = PRODUCT_TOKEN.match(written)
    return token if name and name[0].lower() == token.lower() else ""
