"""The scope of a crawl: the URLs that belong to it (SEEDS W10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache

from crawling.web.addresses import Address
from crawling.web.public_suffixes import domain_of

#: the largest number in a column of 16 bits; a chain of links this long is a trap
DEEPEST = 32_767


class Reach(StrEnum):
    HOST = "host"
    PATH = "path"
    DOMAIN = "domain"
    ANYWHERE = "anywhere"


@dataclass(frozen=True)
class Scope:
    """The URLs that are near enough to a seed, down to a depth.

    A seed has depth 0, and a link is one deeper than its page.
    """

    reach: Reach
    #: the range of the seeds, by reach: their host keys, their directories, like
    #: `example.org/manual/`, or their domains by the public suffix list, so that `docs.example.org`
    #: includes `www.example.org`. An IP address has no domain and stands for its host key alone. In
    #: a scope of all sites, counts of links off site begin at the domains
    roots: frozenset[str]
    max_depth: int | None
    #: the names of the seeds' hosts
    names: frozenset[str] = frozenset()
    #: the seeds of a scope of directories that end without a slash, like `example.org/manual`. Each
    #: stands for its parent directory until it redirects to its own
    files: frozenset[str] = frozenset()

    @classmethod
    def of_seeds(cls, reach: Reach, seeds: Iterable[Address], max_depth: int | None) -> Scope:
        return cls(reach, frozenset(), max_depth).with_seeds(seeds)

    def with_seeds(self, seeds: Iterable[Address]) -> Scope:
        """The scope, extended by these seeds."""
        seeds = list(seeds)
        names = self.names | {seed.hostname for seed in seeds}
        if self.reach is not Reach.PATH:
            roots = self.roots | {_root_of_scope(self.reach, seed) for seed in seeds}
            files = self.files
        else:
            places = {_host_and_path(seed) for seed in seeds}
            roots = self.roots | {place for place in places if place.endswith("/")}
            files = frozenset(
                place
                for place in self.files | places
                if not place.endswith("/") and f"{place}/" not in roots
            )
        if (len(names), len(roots), files) == (len(self.names), len(self.roots), self.files):
            return self
        return replace(self, roots=roots, names=names, files=files)

    def with_targets(self, targets: Iterable[Address]) -> Scope:
        """The scope, extended by redirect targets of seeds. A target on a seed's site counts as a
        seed. Another site is not included only because a seed redirects to it.
        """
        return self.with_seeds(target for target in targets if self.has_site_of(target))

    def has_site_of(self, address: Address) -> bool:
        """Whether a seed is on the address's site, whatever its host."""
        return address.hostname in self.names or site_of(address) in _sites_of_names(self.names)

    def admits(self, address: Address, depth: int) -> bool:
        return self.reaches(address) and self.admits_depth(depth)

    def reaches(self, address: Address) -> bool:
        """Whether the address is near enough to a seed, whatever its depth."""
        return self.reach is Reach.ANYWHERE or self.is_on_site(address)

    def is_on_site(self, address: Address) -> bool:
        """Whether the address is in the range of the seeds. Links that leave it are counted."""
        if self.reach is not Reach.PATH:
            return _root_of_scope(self.reach, address) in self.roots
        directory = _directory_of_address(address)
        directories = self.directories
        while directory:
            if directory in directories:
                return True
            directory = directory[: directory.rfind("/", 0, -1) + 1]
        return False

    def has_host_of(self, address: Address) -> bool:
        """Whether the address is on a host of the crawl's sites, in or outside its directories."""
        if self.reach is not Reach.PATH:
            return self.is_on_site(address)
        return any(root.startswith(f"{address.host_key}/") for root in self.directories)

    def may_reach_host_of(self, address: Address) -> bool:
        """Whether pages of the address's host may be near enough to a seed."""
        return self.reach is Reach.ANYWHERE or self.has_host_of(address)

    @cached_property
    def directories(self) -> frozenset[str]:
        """The root directories of the scope, and those of its files."""
        if not self.files:
            return self.roots
        return self.roots | {place[: place.rfind("/") + 1] for place in self.files}

    def admits_depth(self, depth: int) -> bool:
        return depth <= (DEEPEST if self.max_depth is None else self.max_depth)

    def why_not(self, address: Address, depth: int) -> str:
        """A part of a sentence with the reason why an address is not admitted; empty if it is
        admitted.
        """
        if not self.reaches(address):
            return {
                Reach.HOST: lambda: f"{address.host_key} is no host of a start URL",
                Reach.PATH: lambda: (
                    f"{_directory_of_address(address)} is in no directory of a start URL"
                ),
                Reach.DOMAIN: lambda: self.off_site_reason(address),
            }[self.reach]()
        return "" if self.admits_depth(depth) else self.depth_reason()

    def off_site_reason(self, address: Address) -> str:
        """A part of a sentence about an address that is on no domain of a seed."""
        return f"{_root_of_scope(Reach.DOMAIN, address)} is no domain of a start URL"

    def depth_reason(self) -> str:
        return f"the depth is limited to {DEEPEST if self.max_depth is None else self.max_depth}"


def _root_of_scope(reach: Reach, address: Address) -> str:
    if reach is Reach.HOST:
        return address.host_key
    if reach is Reach.PATH:
        return _directory_of_address(address)
    return domain_of(address.hostname) or address.host_key


def _directory_of_address(address: Address) -> str:
    """Host key and path up to the last slash, without the query."""
    place = _host_and_path(address)
    return place[: place.rfind("/") + 1]


def _host_and_path(address: Address) -> str:
    """Host key and path."""
    return address.host_key + address.target.partition("?")[0]


def site_of(address: Address) -> str:
    """The site of an address, whatever its host, scheme and port."""
    return domain_of(address.hostname) or address.hostname


@lru_cache(maxsize=8)
def _sites_of_names(names: frozenset[str]) -> frozenset[str]:
    """The sites of the seeds. Computed only if a seed redirects to a host without a seed."""
    return frozenset(domain_of(name) or name for name in names)
