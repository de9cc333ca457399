"""Which pages a browser renders, and what a page's row says about it.

Pure: the caller passes what the plain page has, and what rendering brought to pages like it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from crawling.orders.scope.trap_patterns import Pattern, directory_pattern, pattern_of
from crawling.orders.sections.rendering import RenderingPart, choice_for
from crawling.web.addresses import Address
from crawling.web.content.script_signs import ScriptSign, has_text
from crawling.web.documents.base import Document
from crawling.web.statuses import FetchStatus

#: once this many pages of a pattern were rendered in vain, no further one is
MOST_IN_VAIN = 3
#: of a pattern whose pages gain by rendering, pages with less text are rendered without another
#: sign
SHORT_PAGE = 2000
#: a rendered page has gained if it has a link that the plain page lacks, or more text by as many
#: characters and by this share
GAINED_TEXT, GAINED_SHARE = 100, 0.1


class Rendering(IntEnum):
    """The reason why a page was rendered, or was not. Pages whose rendering was ended have the
    fetch status of that end instead, which is negative.
    """

    ALWAYS = 1
    LITTLE = 2
    MOUNT = 3
    NOSCRIPT = 4
    COMPONENT = 5
    LATER = 6
    ALIKE = 7
    NEVER = 20
    NOT_NEEDED = 21
    IN_VAIN = 22
    LIMIT = 23
    NO_BROWSER = 24
    NOT_HTML = 25

    @property
    def is_rendered(self) -> bool:
        return self < Rendering.NEVER

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES = {
    Rendering.ALWAYS: "Rendered by a browser, as the order asks for each page here.",
    Rendering.LITTLE: "Rendered by a browser: without its scripts it had no link and hardly any "
    "text.",
    Rendering.MOUNT: "Rendered by a browser: the element that its scripts fill was empty.",
    Rendering.NOSCRIPT: "Rendered by a browser: it asks to enable JavaScript.",
    Rendering.COMPONENT: "Rendered by a browser: it had little text, and empty elements that its "
    "scripts define.",
    Rendering.LATER: "Rendered by a browser: parts of it load by themselves.",
    Rendering.ALIKE: "Rendered by a browser: pages with addresses like this one gained by it.",
    Rendering.NEVER: "Not rendered, as the order says of its address.",
    Rendering.NOT_NEEDED: "Not rendered: its content is there without scripts.",
    Rendering.IN_VAIN: "Not rendered: other pages with addresses like this one gained nothing by "
    "it.",
    Rendering.LIMIT: "Not rendered: the order's limit of rendered pages was reached before.",
    Rendering.NO_BROWSER: "Not rendered: the worker had no browser.",
    Rendering.NOT_HTML: "Not rendered: it is no HTML page.",
}
OF_SIGNS = {
    ScriptSign.LITTLE: Rendering.LITTLE,
    ScriptSign.MOUNT: Rendering.MOUNT,
    ScriptSign.NOSCRIPT: Rendering.NOSCRIPT,
    ScriptSign.COMPONENT: Rendering.COMPONENT,
    ScriptSign.LATER: Rendering.LATER,
}


class RenderingCounts(NamedTuple):
    """The effect of rendering on the pages of a pattern in a run."""

    rendered: int = 0
    #: those of them that had more links or text than without scripts
    gained: int = 0


NO_TALLY = RenderingCounts()


def decide_rendering(
    address: Address, document: Document, part: RenderingPart, tally: RenderingCounts = NO_TALLY
) -> Rendering:
    """Whether an HTML page is to be rendered, and why. document: the plain page. tally: of the
    page's pattern.
    """
    choice = choice_for(address.url, part)
    if choice == "never":
        return Rendering.NEVER
    if choice == "always":
        return Rendering.ALWAYS
    sign = document.script_sign
    if sign is ScriptSign.NONE:
        return Rendering.NOT_NEEDED
    if sign is ScriptSign.SOME:
        is_alike = tally.gained and not has_text(document.text, SHORT_PAGE)
        return Rendering.ALIKE if is_alike else Rendering.NOT_NEEDED
    if tally.rendered >= MOST_IN_VAIN and not tally.gained:
        return Rendering.IN_VAIN
    return OF_SIGNS[sign]


def rendering_pattern(address: Address) -> Pattern:
    """The pattern by which a run remembers what rendering brought."""
    return pattern_of(address) or directory_pattern(address)


def is_richer(plain: Document, rendered: Document) -> bool:
    """Whether a rendered page has more to read or to follow than the plain one."""
    if not _urls_of_links(rendered.links) <= _urls_of_links(plain.links):
        return True
    before = sum(map(len, plain.text.split()))
    least = before + max(GAINED_TEXT, int(before * GAINED_SHARE))
    return has_text(rendered.text, least)


def _urls_of_links(links: Iterable[Address]) -> set[str]:
    return {link.url for link in links}


def explain_rendering(verdict: int) -> str:
    """The sentence for the verdict in a page's row."""
    return FetchStatus(verdict).sentence if verdict < 0 else Rendering(verdict).sentence
