"""Declarative shadow trees (HTML Standard, 4.12.3: `template` elements with `shadowrootmode`).

Browsers show them in place of an element's children. Here their content becomes ordinary children,
before those that the element has already, so that links, text and rules find all of it. Trees of
the mode `closed` are not read: the parser keeps them to itself, as a browser does from scripts.
"""

from __future__ import annotations

from collections.abc import Iterator

import turbohtml

#: no document without this word has such a tree; as bytes, or decoded
MARK, DECODED_MARK = b"shadowroot", "shadowroot"


class ShadowMark:
    """Looks for the word in a document that comes in pieces, decoded or not."""

    def __init__(self) -> None:
        self.is_found = False
        self._end: str | bytes = ""

    def look(self, piece: str | bytes) -> None:
        if isinstance(piece, str):
            end = self._end if isinstance(self._end, str) else ""
            found = DECODED_MARK in f"{end}{piece}"
        else:
            end_bytes = self._end if isinstance(self._end, bytes) else b""
            found = MARK in end_bytes + piece
        self.is_found, self._end = self.is_found or found, piece[1 - len(MARK) :]


def merge_shadow_trees(document: turbohtml.Document) -> None:
    """Move the content of all shadow trees into the elements that have them. Takes linear time."""
    waiting: list[turbohtml.Document | turbohtml.Element] = [document]
    while waiting:
        for host in [one for one in _elements(waiting.pop()) if one.shadow_root is not None]:
            assert host.shadow_root is not None
            moved = list(host.shadow_root.children)
            for node in reversed(moved):
                host.insert(0, node)
            waiting += [node for node in moved if isinstance(node, turbohtml.Element)]


def _elements(root: turbohtml.Document | turbohtml.Element) -> Iterator[turbohtml.Element]:
    if isinstance(root, turbohtml.Element):
        yield root
    yield from root.iter_elements()
