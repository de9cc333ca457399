"""Which URLs belong to a crawl (SEEDS W10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from crawling.web.addresses import Address
from crawling.web.public_suffixes import domain_of

#: what a column of 16 bits holds; a chain of links this long is a trap
DEEPEST = 32_767


class Reach(StrEnum):
    """How far from its seeds a crawl may go."""

    HOST = "host"
    PATH = "path"
    DOMAIN = "domain"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class Scope:
    """What is near enough to a seed, down to a depth.

    A seed has depth 0; a link is one deeper than its page.
    """

    reach: Reach
    #: the range of the seeds, by reach: their host keys; their directories, like
    #: `example.org/manual/`; or their domains under the public suffix list, so that
    #: `docs.example.org` takes in `www.example.org`. A literal address has no domain and stands for
    #: its host key alone. Anywhere, domains are where counts of links off site begin
    roots: frozenset[str]
    max_depth: int | None

    @classmethod
    def of_seeds(cls, reach: Reach, seeds: Iterable[Address], max_depth: int | None) -> Scope:
        return cls(reach, frozenset(), max_depth).with_seeds(seeds)

    def with_seeds(self, seeds: Iterable[Address]) -> Scope:
        """The scope that these seeds widen; where a seed redirects to counts as a seed, too."""
        return replace(self, roots=self.roots | {_root(self.reach, seed) for seed in seeds})

    def admits(self, address: Address, depth: int) -> bool:
        return self.reaches(address) and self.admits_depth(depth)

    def reaches(self, address: Address) -> bool:
        """Whether the address is near enough to a seed, at whatever depth."""
        return self.reach is Reach.ANYWHERE or self.is_on_site(address)

    def is_on_site(self, address: Address) -> bool:
        """Whether the address is where the seeds are: links off site are counted from there."""
        if self.reach is not Reach.PATH:
            return _root(self.reach, address) in self.roots
        directory = _directory(address)
        while directory:
            if directory in self.roots:
                return True
            directory = directory[: directory.rfind("/", 0, -1) + 1]
        return False

    def has_host_of(self, address: Address) -> bool:
        """Whether the address is on a host of the crawl's sites, in its directories or not."""
        if self.reach is not Reach.PATH:
            return self.is_on_site(address)
        return any(root.startswith(f"{address.host_key}/") for root in self.roots)

    def admits_depth(self, depth: int) -> bool:
        return depth <= (DEEPEST if self.max_depth is None else self.max_depth)

    def why_not(self, address: Address, depth: int) -> str:
        """A sentence's part for an address that is not admitted; empty for one that is."""
        if not self.reaches(address):
            return {
                Reach.HOST: lambda: f"{address.host_key} is no host of a seed",
                Reach.PATH: lambda: f"{_directory(address)} is in no directory of a seed",
                Reach.DOMAIN: lambda: self.why_off_site(address),
            }[self.reach]()
        return "" if self.admits_depth(depth) else self.why_not_so_deep()

    def why_off_site(self, address: Address) -> str:
        """A sentence's part for an address on no domain of a seed."""
        return f"{_root(Reach.DOMAIN, address)} is no domain of a seed"

    def why_not_so_deep(self) -> str:
        return f"the depth is limited to {DEEPEST if self.max_depth is None else self.max_depth}"


def _root(reach: Reach, address: Address) -> str:
    if reach is Reach.HOST:
        return address.host_key
    if reach is Reach.PATH:
        return _directory(address)
    return domain_of(address.hostname) or address.host_key


def _directory(address: Address) -> str:
    """Host key and path up to the last slash; the query is no part of it."""
    path = address.target.partition("?")[0]
    return address.host_key + path[: path.rfind("/") + 1]
