"""The header fields of an answer about its document's links: `Link` (RFC 8288) and
`X-Robots-Tag`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

#: the most links of all fields together
MOST_LINKS = 200
MOST_CHARACTERS = 64 * 1024
#: a link's target, and a parameter with its value (RFC 8288, section 3; RFC 9110, section 5.6)
TARGET = re.compile(r"[\s,]*+<([^>]*+)>")
PARAMETER = re.compile(
    r"""\s*+;\s*+([^\s=;,"<>]++)(?:\s*+=\s*+(?:"((?:[^"\\]++|\\.)*+)"|([^\s;,"]*+)))?+""", re.DOTALL
)
#: the text between two links if the first link is not well-formed
REST = re.compile(r"""(?:[^,"]++|"(?:[^"\\]++|\\.)*+"?+)*+""", re.DOTALL)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
#: the name of a crawler before directives that only it obeys
AGENT = re.compile(r"\s*+([A-Za-z_*-]++)(?:/[\w.]*+)?+\s*+:", re.ASCII)
#: directives with a value, which also follows a colon
VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
SILENCING = frozenset({"nofollow", "none"})


class HeadLink(NamedTuple):
    target: str
    #: words in lower case
    relations: frozenset[str]


def links_in_head(fields: Iterable[str]) -> Iterator[HeadLink]:
    """The links in Link fields that are about the document itself, and not about another."""
    count = 0
    for field in fields:
        at, field = 0, field[:MOST_CHARACTERS]
        while count < MOST_LINKS and (target := TARGET.match(field, at)):
            count += 1
            at, parameters = _parse_parameters(field, target.end())
            relations = frozenset(parameters.get("rel", "").lower().split())
            if relations and not parameters.get("anchor"):
                yield HeadLink(target[1].strip(), relations)
            rest = REST.match(field, at)
            at = rest.end() if rest else at


def _parse_parameters(field: str, at: int) -> tuple[int, dict[str, str]]:
    """The end of the parameters, and the parameters by name. If a name occurs twice, its first
    value counts.
    """
    found: dict[str, str] = {}
    while part := PARAMETER.match(field, at):
        at = part.end()
        value = ESCAPED.sub(r"\1", part[2]) if part[2] is not None else part[3] or ""
        found.setdefault(part[1].lower(), value)
    return at, found


def has_nofollow(fields: Iterable[str], token: str) -> bool:
    """Whether X-Robots-Tag fields ask all crawlers, or the one of this name, not to follow the
    document's links. A name applies to the rest of its field.
    """
    for field in fields:
        is_for_us = True
        for part in field[:MOST_CHARACTERS].split(","):
            agent = AGENT.match(part)
            if agent and agent[1].lower() not in VALUED:
                is_for_us = agent[1].lower() in ("*", token.lower())
                part = part[agent.end() :]
            if is_for_us and part.strip().lower() in SILENCING:
                return True
    return False
