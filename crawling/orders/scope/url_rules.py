"""The URLs of a withdrawal or a watch: a single URL, the URLs that an expression matches, or those
of a host.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from crawling.orders.scope.blocklist import BadEntry, BlocklistKind, read_entry
from crawling.web.addresses import BadUrl, read_address
from crawling.web.expressions import read_expression


class UrlRuleKind(StrEnum):
    PAGE = "page"
    PATTERN = "pattern"
    HOST = "host"


class UrlRule(NamedTuple):
    """A kind of rule, and the URL, the RE2 expression or the host in the form in which it is
    stored.
    """

    kind: UrlRuleKind
    text: str

    @classmethod
    def read(cls, kind: UrlRuleKind, text: str) -> UrlRule:
        """Raises BadEntry."""
        if kind is UrlRuleKind.HOST:
            return cls(kind, read_entry(BlocklistKind.HOST, text))
        if kind is UrlRuleKind.PATTERN:
            return cls(kind, read_entry(BlocklistKind.REGEX, text))
        try:
            return cls(kind, read_address(text.strip()).url)
        except BadUrl as error:
            raise BadEntry(str(error)) from error

    def covers(self, url: str) -> bool:
        if self.kind is UrlRuleKind.PAGE:
            return url == self.text
        if self.kind is UrlRuleKind.PATTERN:
            return bool(read_expression(self.text).search(url))
        try:
            return read_address(url).host_key == self.text
        except BadUrl:
            return False
