"""Signs in HTML that scripts make the content of a page: the shapes that frameworks ship.

HTML alone does not show everything. A page with much text may hold its list in a script, a button
may load more, and a script may add a link anywhere; only a browser can tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from itertools import islice

import turbohtml

#: a page with as many visible characters is taken to be whole
ENOUGH_TEXT = 600
#: with less text, empty elements that a script defines are taken for the content of the page
FEW_WORDS = 200
#: scripts make the content of a page that has no link and less text than this
LEAST_TEXT = 100
#: the most text of an element that is empty but for words such as *Loading*
PLACEHOLDER_TEXT = 40
#: the number of characters of a text that are counted at once
PIECE = 800
#: the white space of HTML, and the space that breaks no line
WHITE = " \n\t\r\f\xa0"
#: the most elements of a kind that are looked at, since each look may read a whole tree
MOST_LOOKS = 10
#: the elements into which React, Vue, Svelte, Angular, Next, Nuxt, Gatsby, Quasar and AngularJS put
#: a page
MOUNTS = (
    "#root, #app, #__next, #__nuxt, #___gatsby, #react-root, #q-app, #svelte, app-root, "
    "[data-sveltekit-preload-data] > div, [data-reactroot], [ng-app], [ng-version], [ng-view], "
    "[ui-view]"
)
#: elements that fetch their content by themselves: of htmx, and of Turbo
LOADED_LATER = "[hx-trigger], [data-hx-trigger], turbo-frame[src]"
BY_ITSELF = re.compile(r"\b(?:load|revealed|intersect)\b")
ASKS_FOR_SCRIPTS = re.compile(
    r"\b(?:enable|requires?|needs?|without|turn on|activate|activez|aktivieren|activar)\b[^.]{0,60}"
    r"\bjavascript|\bjavascript\b[^.]{0,60}\b(?:enabled|required|disabled|needed)\b",
    re.IGNORECASE,
)
#: the text of a page that has only its navigation yet
WAITS = re.compile(
    r"\b(?:loading|please wait|wird geladen|lädt|chargement|cargando|caricamento|carregando)\b",
    re.IGNORECASE,
)


class ScriptSign(StrEnum):
    """The share that scripts have in a page's content, as far as its HTML shows it."""

    NONE = ""
    #: there are scripts, and content without them
    SOME = "some"
    LITTLE = "little"
    MOUNT = "mount"
    NOSCRIPT = "noscript"
    COMPONENT = "component"
    LATER = "later"

    @property
    def is_strong(self) -> bool:
        """Whether the page's content is taken to be made by scripts."""
        return self not in (ScriptSign.NONE, ScriptSign.SOME)


def find_script_sign(
    document: turbohtml.Document, text: str, noscripts: Sequence[str], *, has_link: bool
) -> ScriptSign:
    """The sign of a page with scripts, in whose tree only visible elements are left.

    text: of the page. noscripts: what it shows to programs without scripts. has_link: whether it
    has a link to follow.
    """
    if has_text(text, ENOUGH_TEXT):
        return ScriptSign.SOME
    mounts = list(islice(document.select(MOUNTS), MOST_LOOKS))
    if mounts and all(map(_is_empty, mounts)):
        return ScriptSign.MOUNT
    if _has_loading_element(document):
        return ScriptSign.LATER
    if mounts:  # the server has filled in what a framework takes over
        return ScriptSign.SOME
    if any(map(_mentions_scripts, (*noscripts, text))):
        return ScriptSign.NOSCRIPT
    if not has_text(text, FEW_WORDS) and _has_empty_component(document):
        return ScriptSign.COMPONENT
    is_short = not has_text(text, LEAST_TEXT)
    is_bare = is_short and (not has_link or WAITS.search(text))
    return ScriptSign.LITTLE if is_bare else ScriptSign.SOME


def _mentions_scripts(text: str) -> bool:
    # few pages have the word, and the expression takes 25 microseconds of a short page
    return "javascript" in text.lower() and ASKS_FOR_SCRIPTS.search(text) is not None


def has_text(text: str, least: int) -> bool:
    """Whether a text has at least so many characters besides white space."""
    count = 0
    for begin in range(0, len(text), PIECE):
        piece = text[begin : begin + PIECE]
        # splitting the text would take ten times as long
        count += len(piece) - sum(map(piece.count, WHITE))
        if count >= least:
            return True
    return count >= least


def _is_empty(element: turbohtml.Element) -> bool:
    # the server has written a shadow tree, whose content is among the children
    is_written = element.shadow_root is not None
    return (
        not is_written
        and not has_text(element.text, PLACEHOLDER_TEXT)
        and element.select_one("a[href]") is None
    )


def _has_loading_element(document: turbohtml.Document) -> bool:
    return any(
        element.tag == "turbo-frame"
        or BY_ITSELF.search(element.attr("hx-trigger") or element.attr("data-hx-trigger") or "")
        for element in islice(document.select(LOADED_LATER), MOST_LOOKS)
    )


def _has_empty_component(document: turbohtml.Document) -> bool:
    components = (
        element
        for element in document.find_all()
        if "-" in element.tag and element.namespace is turbohtml.Namespace.HTML
    )
    return any(map(_is_empty, islice(components, MOST_LOOKS)))
