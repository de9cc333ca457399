"""The reasons why a URL belongs to a crawl or not: named and numbered rules in a fixed order. The
first rule that applies decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from crawling.orders.scope.blocklist import Blocklist
from crawling.orders.scope.scope import Reach, Scope
from crawling.web.addresses import WEB, Address
from crawling.web.expressions import Expressions
from crawling.web.statuses import FetchStatus


class Rule(StrEnum):
    """The rules in the order in which they are applied. `number` counts from 1."""

    BLOCKLIST = "blocklist"
    SEED = "seed"
    SCHEME = "scheme"
    DEPTH = "depth"
    EXCLUDE = "exclude"
    SCOPE = "scope"
    INCLUDE = "include"
    TYPE = "type"
    SIZE = "size"
    HOST_BUDGET = "host_budget"
    BUDGET = "budget"
    DOMAIN_BUDGET = "domain_budget"
    CRAWL_HOSTS = "crawl_hosts"

    @property
    def number(self) -> int:
        return NUMBERS[self]

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")


NUMBERS = {rule: number for number, rule in enumerate(Rule, start=1)}
OF_THE_URL = frozenset({Rule.BLOCKLIST, Rule.SCHEME, Rule.EXCLUDE, Rule.INCLUDE})


class Ruling(NamedTuple):
    admits: bool
    rule: Rule
    sentence: str = ""
    #: the number of links in a row outside the scope, including this one
    hops: int = 0

    @property
    def explanation(self) -> str:
        return f"Rule {self.rule.number}, {self.rule.words}: {self.sentence}."

    @property
    def refusal_status(self) -> FetchStatus:
        """The status of a URL that the rule excludes."""
        return FetchStatus.BLOCKLISTED if self.rule is Rule.BLOCKLIST else FetchStatus.FILTERED


@dataclass(frozen=True)
class UrlFilters:
    """The rules of one crawl, from its order, and the blocklist of all crawls.

    `judge` applies the rules before a fetch, `judge_answer` the rules that need the head of the
    answer.
    """

    scope: Scope
    blocklist: Blocklist = field(default_factory=Blocklist)
    schemes: frozenset[str] = frozenset()
    include: Expressions = field(default_factory=Expressions)
    exclude: Expressions = field(default_factory=Expressions)
    off_site_hops: int = 0
    #: whether links one hop further are only checked
    checks_external: bool = False
    types: tuple[str, ...] = ()
    max_document_bytes: int | None = None

    def with_seeds(self, seeds: Sequence[Address]) -> UrlFilters:
        return replace(self, scope=self.scope.with_seeds(seeds))

    def with_targets(self, targets: Sequence[Address]) -> UrlFilters:
        """The rules with these targets as seeds. targets: the targets of redirects of seeds."""
        return replace(self, scope=self.scope.with_targets(targets))

    def judge(
        self,
        address: Address,
        *,
        depth: int,
        hops: int = 0,
        is_seed: bool = False,
        is_map: bool = False,
    ) -> Ruling:
        """The first rule that applies to a URL. hops: the hops of the linking page. is_map: a
        robots.txt or an index names the URL as a sitemap, which is no page; rules for pages apply
        to the URLs in it.
        """
        if entry := self.blocklist.find(address):
            return Ruling(False, Rule.BLOCKLIST, entry.sentence)
        if is_seed:
            return Ruling(True, Rule.SEED)
        if self.schemes and address.scheme not in self.schemes:
            return Ruling(
                False, Rule.SCHEME, f"only {' and '.join(sorted(self.schemes))} may be fetched"
            )
        if not self.scope.admits_depth(depth):
            return Ruling(False, Rule.DEPTH, self.scope.depth_reason())
        if is_map:
            return Ruling(True, Rule.SCOPE, "it is named as a sitemap, which is no page")
        if excluding := self.exclude.find(address.url):
            return Ruling(False, Rule.EXCLUDE, excluding)
        return self._judge_place(address, depth, hops)

    def _judge_place(self, address: Address, depth: int, hops: int) -> Ruling:
        beyond = self._links_outside(address, hops)
        if self.checks_external and beyond == self.off_site_hops + 1 and address.scheme in WEB:
            return Ruling(True, Rule.SCOPE, "outside the scope: it is only checked", beyond)
        if beyond > self.off_site_hops:
            why = self.scope.why_not(address, depth) or self.scope.off_site_reason(address)
            allowed = (
                f", and it is {beyond} links outside, where {self.off_site_hops} are allowed"
                if self.off_site_hops
                else ""
            )
            return Ruling(False, Rule.SCOPE, why + allowed, beyond)
        if not self.include:
            return Ruling(
                True,
                Rule.SCOPE,
                f"{beyond} of {self.off_site_hops} links outside the scope" if beyond else "",
                beyond,
            )
        including = self.include.find(address.url)
        return Ruling(
            bool(including),
            Rule.INCLUDE,
            including or "it holds none of the expressions to include",
            beyond,
        )

    def wants_head_only(self, hops: int) -> bool:
        """Whether only the head of the answer is wanted, for a URL that is `hops` links outside the
        scope.
        """
        return self.checks_external and hops > self.off_site_hops

    def _links_outside(self, address: Address, hops: int) -> int:
        """The number of links in a row that have led outside the scope. In a scope of all sites,
        the number that have led off the seeds' domains, if the order limits it.
        """
        counts_off_site = self.scope.reach is Reach.ANYWHERE and self.off_site_hops
        is_inside = self.scope.is_on_site if counts_off_site else self.scope.reaches
        return 0 if is_inside(address) else hops + 1

    def is_final(self, ruling: Ruling) -> bool:
        """Whether a refused link would be refused on every page, because neither depth nor hops
        mattered.
        """
        return ruling.rule in OF_THE_URL or (
            ruling.rule is Rule.SCOPE and not self.off_site_hops and not self.checks_external
        )

    def _accepts_type(self, content_type: str) -> bool:
        return any(_matches_type(content_type, wanted) for wanted in self.types)

    def judge_answer(self, content_type: str | None, length: int | None) -> Ruling | None:
        """The rule against reading a document of this type and stated length; None if it may be
        read. If the type is not known yet (None), only the length is judged.
        """
        if content_type is not None and self.types and not self._accepts_type(content_type):
            return Ruling(
                False,
                Rule.TYPE,
                f"it is {content_type or 'empty and of no type'}, and only "
                f"{', '.join(self.types)} may be fetched",
            )
        if (
            self.max_document_bytes is not None
            and length is not None
            and length > self.max_document_bytes
        ):
            return Ruling(
                False,
                Rule.SIZE,
                f"it has {length:,} bytes, and documents are limited to "
                f"{self.max_document_bytes:,}",
            )
        return None


def _matches_type(content_type: str, wanted: str) -> bool:
    return content_type.startswith(wanted[:-1]) if wanted.endswith("/*") else content_type == wanted
