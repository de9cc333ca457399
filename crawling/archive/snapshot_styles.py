"""Style sheets of a page that is shown. Their files are inlined or left out. A part of the program
`snapshot_program`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

import tinycss2
from tinycss2.ast import AtKeywordToken, FunctionBlock, Node, StringToken, URLToken

#: an address that loads nothing and keeps the declaration around it valid
NOTHING = "data:,"
#: a style sheet without any of these contains no address; an escape sequence can spell each of them
MARKS = ("url", "@import", "image-set", "\\")
#: marks around a style sheet: for old browsers, and for XML parsers
HIDING = re.compile(r"<!--|-->|<!\[CDATA\[|\]\]>")
MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
IMAGE_SETS = ("image-set", "-webkit-image-set")
#: characters that must be escaped in a quoted address of a style sheet
QUOTED = str.maketrans({'"': "%22", "\\": "%5C", "\n": "%0A", "\r": "%0D", "\f": "%0C"})


class StyleContent(Protocol):
    """Returns the replacement of an address; empty if it has none."""

    def sheet(self, written: str) -> str: ...

    def file(self, written: str) -> str: ...


def edit_sheet(css: str, loads: StyleContent) -> str:
    """Edit a style sheet, or the declarations of one element, whether valid or not.

    The result can be put into an element. It has no markup, because a browser reads a style sheet
    as markup inside of a drawing or a list of choices.
    """
    if not has_addresses(css):
        return _without_markup(css)
    try:
        nodes = tinycss2.parse_component_value_list(css)
        _replace_addresses(nodes, loads)
        return _without_markup(str(tinycss2.serialize(nodes)))
    except RecursionError:
        return ""


def _without_markup(css: str) -> str:
    """Escape the character that begins markup, and remove comment marks around the style sheet."""
    return MARKUP.sub(r"\\3c ", HIDING.sub("", css))


def has_addresses(css: str) -> bool:
    lower = css.lower()
    return any(mark in lower for mark in MARKS)


def _replace_addresses(nodes: list[Node], loads: StyleContent) -> None:
    rule = ""
    for at, node in enumerate(nodes):
        if isinstance(node, AtKeywordToken):
            rule = node.lower_value
        elif node == ";":
            rule = ""
        elif (written := _address_in_token(node, is_string_one=rule == "import")) is not None:
            # the name of a namespace and a part of the page itself load nothing
            if rule != "namespace" and not written.startswith("#"):
                told = loads.sheet(written) if rule == "import" else loads.file(written)
                nodes[at] = _url(node, told)
            rule = "" if rule == "import" else rule
        elif isinstance(node, FunctionBlock) and node.lower_name in IMAGE_SETS:
            _edit_image_set(node.arguments, loads)
        else:
            for inner in _lists_within(node):
                _replace_addresses(inner, loads)


def _edit_image_set(nodes: list[Node], loads: StyleContent) -> None:
    for at, node in enumerate(nodes):
        if (written := _address_in_token(node, is_string_one=True)) is not None:
            nodes[at] = _url(node, loads.file(written))


def _address_in_token(node: Node, *, is_string_one: bool) -> str | None:
    if isinstance(node, URLToken) or (is_string_one and isinstance(node, StringToken)):
        return str(node.value)
    if isinstance(node, FunctionBlock) and node.lower_name == "url":
        strings = [part for part in node.arguments if isinstance(part, StringToken)]
        return str(strings[0].value) if strings else ""
    return None


def _lists_within(node: Any) -> Sequence[list[Node]]:
    lists = (getattr(node, name, None) for name in ("content", "arguments"))
    return [one for one in lists if isinstance(one, list)]


def _url(node: Node, address: str) -> URLToken:
    address = (address or NOTHING).translate(QUOTED)
    return URLToken(node.source_line, node.source_column, address, f'url("{address}")')
