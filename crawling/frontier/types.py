"""Links on their way into a run's frontier, and those that a rule kept out of it."""

from __future__ import annotations

from dataclasses import dataclass

from crawling.scope.filters import Rule
from crawling.scope.trap_patterns import Pattern
from crawling.web.addresses import Address


@dataclass(frozen=True, slots=True)
class Candidate:
    """A URL that was found."""

    address: Address
    depth: int
    #: id of the URL row of the page that it was found on; None: a seed
    via: int | None
    #: how many there were in a row
    redirects: int = 0
    pattern: int | None = None
    #: the suspicious pattern that it is quarantined for
    trap: Pattern | None = None
    #: it stands on that page, and is no directory above it
    is_link: bool = True
    #: links in a row outside the scope, this one included
    hops: int = 0
    #: sitemap indexes in a row that led here
    nesting: int = 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """An address that a rule kept out."""

    url: str
    rule: Rule
    sentence: str
    depth: int
    #: of that page
    hops: int
    #: id of the URL row of the page that it was met on
    via: int | None
    links: int = 1
