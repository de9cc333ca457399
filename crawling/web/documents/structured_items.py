"""Items that a page describes for programs: JSON-LD, microdata and RDFa, within limits.

JSON-LD: https://www.w3.org/TR/json-ld11/, microdata: section 5 of the HTML Standard, RDFa:
https://www.w3.org/TR/rdfa-core/.

JSON is read as pages write it: with comments, in wrappers for old browsers, with control
characters, and with a superfluous comma or semicolon. Each step reads the text once, from its
beginning to its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

import turbohtml

from crawling.web.documents.markup import attribute_text

#: the most characters of a block of JSON-LD, which takes 28 bytes of memory a character once it is
#: read
MOST_BLOCK = 256 * 1024
#: The most characters of all blocks of a page, and of all properties. Each property has the text of
#: all elements in it, which may also be properties: a page of 500 KB could have 88 MB of them.
MOST_TEXT = 2 * 1024 * 1024
#: the cost of a property besides its text
EACH = 50
#: RDFa attributes with addresses by which names are completed
PREFIXES = ("prefix", "vocab")
#: the most levels of items within items
MOST_LEVELS = 32
#: the keys of an object that is itself no item
CONTEXT = ("@context", "@graph")

Item = turbohtml.MicrodataItem | turbohtml.RdfaItem


class FoundItem(NamedTuple):
    """An item, or the reason why there is none."""

    #: the type as written; several types are separated by blanks
    type: str = ""
    name: str = ""
    #: with `@type`, `@id` and its properties, as in JSON-LD
    value: Any = None
    problem: str = ""


def json_ld_items(document: turbohtml.Document) -> Iterator[FoundItem]:
    """The items of all blocks. The items of a `@graph` are returned one by one."""
    left = MOST_TEXT
    for script in document.find_all("script"):
        if not attribute_text(script, "type").strip().lower().startswith("application/ld+json"):
            continue
        text = script.text
        if len(text) > min(MOST_BLOCK, left):
            yield FoundItem(problem=f"A block of {len(text):,} characters was not read: too long.")
            continue
        left -= len(text)
        try:
            read = read_json(text)
        except RecursionError:
            yield FoundItem(problem="A block was not read: it is nested too deeply.")
        except ValueError as error:
            yield FoundItem(problem=f"A block is no JSON: {error}.")
        else:
            yield from _json_items(read)


def _json_items(read: Any) -> Iterator[FoundItem]:
    """The items of a block, which is an item, a list of items, or an object with a graph."""
    for item in read if isinstance(read, list) else [read]:
        if not isinstance(item, dict):
            yield FoundItem(problem="A block has a value that is no object.")
            continue
        graph = item.get("@graph")
        items = graph if isinstance(graph, list) else [graph] if isinstance(graph, dict) else []
        yield from (_json_item(one) for one in items if isinstance(one, dict))
        if not items or any(name not in CONTEXT for name in item):
            yield _json_item({name: item[name] for name in item if name != "@graph"})


def _json_item(item: dict[str, Any]) -> FoundItem:
    kind = item.get("@type", "")
    kinds = [one for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str)]
    return FoundItem(" ".join(kinds), first_text(item, ("name", "headline", "title")), item)


def first_text(item: dict[str, Any], names: tuple[str, ...]) -> str:
    """The first of these properties whose value is a text with a word in it; "" if there is
    none.
    """
    texts = (item.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def microdata_items(document: turbohtml.Document, base: str) -> Iterator[FoundItem]:
    """The items that are not a property of another item. base: the base of relative URLs."""
    if not document.select_one("[itemscope]"):
        return
    # items that refer to items in a chain would be read exponentially often
    chained = document.select("[itemref][itemprop]")
    for element in chained:
        del element.attrs["itemref"]
    if chained:
        yield FoundItem(problem="References of items that are properties were not followed.")
    # an element to which several items refer counts once for each
    references = sum(len(_attribute_words(one, "itemref")) for one in document.select("[itemref]"))
    size = (1 + references) * _estimated_size(
        document, ("itemprop",), _longest_resolved_base(document, base)
    )
    yield from _items_of_reader(size, lambda: document.microdata(base))


def rdfa_items(document: turbohtml.Document, base: str) -> Iterator[FoundItem]:
    """The items that are not a property of another item. base: the base of relative URLs."""
    if not document.select_one("[typeof]"):
        return
    size = _estimated_size(document, ("property", "typeof"), _longest_resolved_base(document, base))
    yield from _items_of_reader(size, lambda: document.rdfa(base))


def _longest_resolved_base(document: turbohtml.Document, base: str) -> int:
    """The longest base to which a name or a value may be joined."""
    stated = [
        attribute_text(one, name) for name in PREFIXES for one in document.select(f"[{name}]")
    ]
    return max(
        map(
            len,
            (base, *stated, *(attribute_text(one, "href") for one in document.find_all("base"))),
        )
    )


def _attribute_words(element: turbohtml.Element, name: str) -> list[str]:
    return attribute_text(element, name).split()


def _estimated_size(document: turbohtml.Document, names: tuple[str, ...], longest: int) -> int:
    """An upper bound of the characters in the values of these attributes, or more than MOST_TEXT.
    longest: the length of the longest text that may be put before each name or value.
    """
    size = 0
    for name in names:
        for element in document.select(f"[{name}]"):
            size += len(_attribute_words(element, name)) * (EACH + longest + len(element.text))
            if size > MOST_TEXT:
                return size
    return size


def _items_of_reader(size: int, reader: Callable[[], list[Any]]) -> Iterator[FoundItem]:
    """The items, unless their texts would take too much memory."""
    if size > MOST_TEXT:
        yield FoundItem(problem="Items were not read: they and what is in them are too long.")
        return
    try:
        for item in reader():
            value = _item_as_json(item, MOST_LEVELS)
            yield FoundItem(value["@type"], _name_of(item), value)
    except RecursionError:
        yield FoundItem(problem="Items were not read: they are nested too deeply.")


def _item_as_json(item: Item, levels: int) -> dict[str, Any]:
    """The item as JSON. Raises RecursionError beyond `levels` levels."""
    if not levels:
        raise RecursionError
    if isinstance(item, turbohtml.MicrodataItem):
        kind, subject = item.type or "", item.id
    else:
        kind, subject = " ".join(item.type), item.resource
    plain: dict[str, Any] = {"@type": kind}
    if subject:
        plain["@id"] = subject
    for name, values in item.properties.items():
        read = [one if isinstance(one, str) else _item_as_json(one, levels - 1) for one in values]
        plain[name] = read[0] if len(read) == 1 else read
    return plain


def _name_of(item: Item) -> str:
    """The item's name: the value of its first property called *name*. In RDFa the name of a
    property is an address.
    """
    for name, values in item.properties.items():
        last = name.rpartition("/")[2].rpartition("#")[2]
        if last in ("name", "headline", "title") and values and isinstance(values[0], str):
            return values[0]
    return ""


#: A string is left unchanged. An unclosed string reaches to the end; otherwise each of its
#: quotation marks would be tried as a beginning.
STRING = r'"(?:[^"\\]++|\\.?)*+"?+'
#: marks, in comments or not, that hide a script from programs that read no scripts
WRAPPER = r"(?://[ \t]*+|/\*\s*+)?+(?:<!\[CDATA\[|(?:<!)?+\]\]>|<!--|-->)(?:\s*+\*/)?+"
COMMENT = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+|//[^\r\n\u2028\u2029]*+"
HTML_COMMENT = r"<!--(?:[^-]++|-(?!->))*+(?:-->)?+"
#: blanks of other scripts, which JSON allows only within strings
ODD_BLANK = (
    r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064"
    r"\u3000\ufeff]++"
)
WRAPPED = re.compile(f"({STRING})|{WRAPPER}|{COMMENT}|{ODD_BLANK}", re.DOTALL)
COMMENTED = re.compile(f"({STRING})|{HTML_COMMENT}|{WRAPPER}|{COMMENT}|{ODD_BLANK}", re.DOTALL)
TOO_MANY = re.compile(rf"({STRING})|,(?=\s*+[\]}}])", re.DOTALL)
#: characters that may follow the value
ENDS = "; \t\n\r"


def read_json(text: str) -> Any:
    """Read JSON, leniently if it is invalid as written.

    Raises ValueError, which names the error in the text as written, or RecursionError.
    """
    try:
        return _read_lax_json(text)
    except ValueError as error:
        wrong = error
    for noise in (WRAPPED, COMMENTED):
        try:
            return _read_lax_json(_remove_noise(TOO_MANY, _remove_noise(noise, text)).rstrip(ENDS))
        except ValueError:
            continue
    raise wrong


def _read_lax_json(text: str) -> Any:
    """Read JSON whose texts may have control characters, such as line breaks."""
    return json.loads(text, strict=False, parse_constant=_refuse_constant)


def _remove_noise(noise: re.Pattern[str], text: str) -> str:
    return noise.sub(r"\1 ", text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")
