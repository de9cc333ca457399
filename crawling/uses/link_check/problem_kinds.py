"""The kinds of problems that a link check looks for, and the way in which a problem is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from crawling.datasets.lag import Derived
from crawling.uses.link_check.link_sources import ANY, LinkSource, target_host_of

#: links that a reader follows; all other links load parts of the page
FOLLOWED = "(element IN ('a', 'area', 'form', 'button') OR attribute = 'formaction')"
#: `link` elements whose target a browser loads
LOADED = "regexp_matches(rel, '(^| )(stylesheet|icon|preload|modulepreload|manifest)( |$)')"
LISTED = "(element IN ('blockquote', 'q', 'ins', 'del', '') OR attribute = 'longdesc')"
INSECURE = "page LIKE 'https://%' AND target LIKE 'http://%'"


class Severity(StrEnum):
    """The severity of a problem for readers of the site, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class ProblemKind(StrEnum):
    """The kinds of problems, in the order of lists."""

    BROKEN = "broken"
    FRAGMENT = "fragment"
    MALFORMED = "malformed"
    REDIRECTED = "redirected"
    MIXED_CONTENT = "mixed-content"
    PLAIN_HTTP = "plain-http"
    CERTIFICATE = "certificate"
    SLOW = "slow"
    UNREAD = "unread"
    ORPHAN = "orphan"
    CANONICAL = "canonical"
    HREFLANG = "hreflang"
    TITLE = "title"
    DESCRIPTION = "description"
    HTML = "html"

    @property
    def label(self) -> str:
        return LABELS[self]

    @property
    def severity(self) -> Severity:
        if self in ERRORS:
            return Severity.ERROR
        return Severity.NOTICE if self in NOTICES else Severity.WARNING

    @property
    def condition(self) -> str:
        """The condition on links that have the problem when their target has it."""
        return CONDITIONS.get(self, ANY)

    @property
    def needs_reading(self) -> bool:
        """Whether only a second reading of the pages finds problems of this kind."""
        return self in (ProblemKind.FRAGMENT, ProblemKind.MALFORMED, ProblemKind.HTML)

    @property
    def derived(self) -> Derived:
        """The data in which the problem is found, or which contain its links."""
        return Derived.TEXTS if self.needs_reading else Derived.LINKS

    @property
    def is_of_hosts(self) -> bool:
        """Whether all links to the host of the address share the problem."""
        return self is ProblemKind.CERTIFICATE

    @property
    def is_of_links(self) -> bool:
        """Whether the problem is corrected on the pages that link to the address, and not on the
        page at the address.
        """
        return self in OF_LINKS


LABELS = {
    ProblemKind.BROKEN: "Broken",
    ProblemKind.FRAGMENT: "Missing fragments",
    ProblemKind.MALFORMED: "Malformed links",
    ProblemKind.REDIRECTED: "Redirected",
    ProblemKind.MIXED_CONTENT: "Mixed content",
    ProblemKind.PLAIN_HTTP: "Plain HTTP",
    ProblemKind.CERTIFICATE: "Certificates",
    ProblemKind.SLOW: "Slow",
    ProblemKind.UNREAD: "Not all read",
    ProblemKind.ORPHAN: "Orphan pages",
    ProblemKind.CANONICAL: "Canonical",
    ProblemKind.HREFLANG: "Languages",
    ProblemKind.TITLE: "Titles",
    ProblemKind.DESCRIPTION: "Descriptions",
    ProblemKind.HTML: "HTML errors",
}
#: kinds that keep a reader from the content of a page or of a link's target
ERRORS = {
    ProblemKind.BROKEN,
    ProblemKind.FRAGMENT,
    ProblemKind.MALFORMED,
    ProblemKind.MIXED_CONTENT,
    ProblemKind.CERTIFICATE,
}
#: kinds that readers do not notice
NOTICES = {
    ProblemKind.CANONICAL,
    ProblemKind.HREFLANG,
    ProblemKind.TITLE,
    ProblemKind.DESCRIPTION,
    ProblemKind.HTML,
}
CONDITIONS = {
    ProblemKind.MIXED_CONTENT: f"{INSECURE} AND NOT {FOLLOWED} AND NOT {LISTED} AND "
    f"(element <> 'link' OR {LOADED})",
    ProblemKind.PLAIN_HTTP: f"{INSECURE} AND {FOLLOWED}",
    ProblemKind.CERTIFICATE: "target LIKE 'https://%'",
}
OF_LINKS = {
    ProblemKind.BROKEN,
    ProblemKind.FRAGMENT,
    ProblemKind.REDIRECTED,
    ProblemKind.MIXED_CONTENT,
    ProblemKind.PLAIN_HTTP,
    ProblemKind.CERTIFICATE,
    ProblemKind.SLOW,
}


#: the number of links to an address that its row shows; a link "all" leads to the others
SOURCES_TOLD = 3


@dataclass(frozen=True)
class LinkProblem:
    kind: ProblemKind
    url: str
    #: a sentence
    detail: str
    #: the status; None if the address was not fetched, or if its status does not matter
    status: int | None = None
    #: the targets of redirects, one after the other
    chain: Sequence[str] = field(default_factory=tuple)
    #: the target that links should have, according to permanent redirects; empty if unknown
    new_target: str = ""
    #: the number of known links to the address, if `is_of_links`; None if not counted yet
    links: int | None = 0
    sources: Sequence[LinkSource] = field(default_factory=tuple)

    @property
    def some_sources(self) -> Sequence[LinkSource]:
        return self.sources[:SOURCES_TOLD]

    @property
    def host(self) -> str:
        return target_host_of(self.url)


#: the problems, and the key after which more follow
Found = tuple[list[LinkProblem], str | None]
