"""A page as BeautifulSoup's tree, of which tests read what users see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import turbohtml
from bs4 import BeautifulSoup
from bs4.builder import HTMLTreeBuilder
from turbohtml import TokenType


class TokensTree(HTMLTreeBuilder):
    """Elements and texts as they are written: none is added or moved, as a browser would, so that a
    fragment of a table is read like a page. The tokens are found by the product's parser: Python's
    took a tenth of the time of tests that read pages.
    """

    NAME = "html.parser"

    def prepare_markup(
        self, markup: Any, *_: Any, **__: Any
    ) -> Iterator[tuple[Any, None, None, bool]]:
        yield markup, None, None, False

    def feed(self, markup: str) -> None:
        soup = self.soup
        for token in turbohtml.tokenize(markup):
            if token.type is TokenType.TEXT:
                if soup.currentTag.name == "noscript":
                    self.feed(token.data)
                else:
                    soup.handle_data(token.data)
            elif token.type is TokenType.START_TAG:
                attributes = self.attribute_dict_class(token.attrs)
                element = soup.handle_starttag(token.tag, None, None, attributes)
                if element.is_empty_element or token.self_closing:
                    soup.handle_endtag(token.tag)
            elif token.type is TokenType.END_TAG and token.tag not in self.empty_element_tags:
                soup.handle_endtag(token.tag)


def tree_of(page: str | bytes) -> BeautifulSoup:
    text = page.decode() if isinstance(page, bytes) else page
    return BeautifulSoup(text, builder=TokensTree())
