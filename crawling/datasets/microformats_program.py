"""Reads the microformats of one page after the other. `MicroformatsReader` runs this module as a
program in a sandbox, since mf2py has no limits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

import mf2py
import turbohtml
from bs4 import BeautifulSoup, Tag
from bs4.builder import HTMLTreeBuilder

from crawling.datasets.microformats import HEIGHTS
from crawling.machine.sandbox_program import run_sandboxed, work_on_tasks

MOST_ITEMS = 500
#: the most characters of a text, and of all items as JSON
MOST_TEXT = 16 * 1024
MOST_JSON = 512 * 1024
#: the attributes from which items are read
READ_ATTRIBUTES = frozenset(
    {
        *("class", "rel", "href", "src", "alt", "title", "value", "datetime", "data", "poster"),
        "lang",
    }
)


#: elements without text for readers; the base of a page's URLs is known
UNREAD = frozenset({"base", "script", "style", "template"})


class SourceTree(HTMLTreeBuilder):
    """Makes a BeautifulSoup tree from the tree of our parser. That parser reads HTML as browsers
    do, in linear time. Only elements, texts and the attributes above are copied.
    """

    NAME = "html.parser"

    def prepare_markup(
        self, markup: Any, *_: Any, **__: Any
    ) -> Iterator[tuple[Any, None, None, bool]]:
        yield markup, None, None, False

    def feed(self, markup: Any) -> None:
        assert self.soup
        open_elements: list[str] = []
        nodes = [iter(turbohtml.parse(markup, positions=False).children)]
        while nodes:
            node = next(nodes[-1], None)
            if node is None:
                nodes.pop()
                if open_elements:
                    self.soup.handle_endtag(open_elements.pop())
            elif isinstance(node, turbohtml.Text):
                self.soup.handle_data(node.data)
            elif isinstance(node, turbohtml.Element) and node.tag not in UNREAD:
                self.soup.handle_starttag(node.tag, None, None, _attributes_by_name(node))
                open_elements.append(node.tag)
                nodes.append(iter(node.children))


class OriginalNode(Tag):
    """An element that is used as its own copy. For the HTML of embedded markup, mf2py copies each
    element of an older microformat under this name, once for each of its 30 rules. Here only the
    text of the copy is read, and the element has the same text.
    """

    @property
    def original(self) -> OriginalNode:
        return self


def _attributes_by_name(element: turbohtml.Element) -> dict[str, str]:
    texts = {}
    for name, value in element.attrs.items():
        if name in READ_ATTRIBUTES and value is not None:
            words = value.split() if isinstance(value, str) else value
            if name == "class":
                # mf2py would treat these classes as nested roots
                texts[name] = " ".join(word for word in words if word not in HEIGHTS)
            else:
                texts[name] = value if isinstance(value, str) else " ".join(value)
    return texts


def items_in(html: str, base: str) -> Iterator[dict[str, Any]]:
    """The items of a page. The items of a feed follow the feed. Raises RecursionError."""
    tree = BeautifulSoup(html, builder=SourceTree, element_classes={Tag: OriginalNode})
    # mf2py gets the page's text, so it fetches nothing; with `expose_dom` it skips the HTML of
    # embedded markup
    for item in mf2py.parse(tree, base, expose_dom=True)["items"]:
        children = item.pop("children", []) if "h-feed" in item["type"] else []
        yield _typed_item(item)
        yield from map(_typed_item, children)


def _typed_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """The item with `@type` and its properties, like the items of other vocabularies."""
    plain: dict[str, Any] = {"@type": " ".join(item["type"])}
    for name, values in item["properties"].items():
        read = [_value_as_json(value) for value in values]
        plain[name] = read[0] if len(read) == 1 else read
    if "children" in item:
        plain.setdefault("children", [_typed_item(child) for child in item["children"]])
    return plain


def _value_as_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value[:MOST_TEXT] if isinstance(value, str) else value
    if "type" in value:
        return _typed_item(value)
    if "alt" in value:
        return {name: value[name][:MOST_TEXT] for name in ("value", "alt")}
    return value["value"][:MOST_TEXT]


def read_page(task: dict[str, Any], document: bytes) -> bytes:
    """A list of items as JSON, and a note on missing ones."""
    found: list[str] = []
    length, problem = 0, ""
    try:
        for item in islice(items_in(document.decode(), task["base"]), MOST_ITEMS + 1):
            text = json.dumps(item)
            length += len(text)
            if length > MOST_JSON:
                problem = f"Only the first {len(found):,} items were read: they are too long."
                break
            found.append(text)
    except RecursionError:
        problem = "Items were not read: they are nested too deeply."
    return f'{{"items": [{", ".join(found)}], "problem": {json.dumps(problem)}}}'.encode()


if __name__ == "__main__":
    run_sandboxed(partial(work_on_tasks, read_page))
