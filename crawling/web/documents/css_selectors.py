"""Extraction rules, and the search for what their selectors match, within a limit of time. A rule
is a CSS selector, with `::attr(NAME)` behind it for an attribute instead of the text, and with the
type of the field at the end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import turbohtml

#: the tokens of a selector: text without combinators, the beginnings and ends of groups, and
#: combinators
TOKEN = re.compile(
    r"""\\.|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[\[\]]|:has\(\s*+|\(\s*+|\s*+\)|\s*+,\s*+"""
    r"""|\s*+[>+~]\s*+|\s++""",
    re.IGNORECASE | re.DOTALL,
)
#: The most steps of a search; a second has some hundred million. Pages are rarely nested deeper
#: than 50 elements, so only very few or hostile pages exceed this.
MOST_STEPS = 100_000_000
ATTRIBUTE = re.compile(r"(.*)::attr\(\s*([A-Za-z_:][A-Za-z0-9_:.-]*)\s*\)\s*", re.DOTALL)

#: the types of fields: the first text, all texts, or the first text as a number, a price or a date
TYPES = ("text", "list", "number", "price", "date")
TYPE = re.compile(rf"(.*)::({'|'.join(TYPES)})\s*", re.DOTALL)


class BadSelector(ValueError):
    """The text is no CSS selector; the message names the place of the mistake."""


class SelectorTookTooLong(ValueError):
    """The selector would take too long on a document that is nested so deep; choose one without
    :has(), or without spaces within :is() and :not().
    """

    def __init__(self) -> None:
        super().__init__(" ".join(str(self.__doc__).split()))


def type_of_rule(rule: str) -> str:
    """The type at the end of a rule, one of TYPES, or ""."""
    match = TYPE.fullmatch(rule)
    return match[2] if match else ""


@lru_cache(maxsize=256)
def read_selector(rule: str) -> tuple[str, str]:
    """Return the selector and the attribute's name, "" for the text. Raises BadSelector."""
    typed = TYPE.fullmatch(rule)
    path = typed[1].rstrip() if typed else rule
    match = ATTRIBUTE.fullmatch(path)
    selector, attribute = (match[1], match[2].lower()) if match else (path, "")
    try:
        turbohtml.parse("").select(selector)
    except ValueError as error:
        reason = str(error).splitlines()[0][:200]
        raise BadSelector(f"{rule[:100]!r} is no CSS selector: {reason}") from error
    return selector, attribute


def select_elements(document: turbohtml.Document, selector: str) -> list[turbohtml.Element]:
    """The elements of a document that a selector finds. Raises SelectorTookTooLong."""
    check_cost(document, selector)
    return document.select(selector)


def check_cost(document: turbohtml.Document, selector: str) -> None:
    """Check that a selector does not take too long. Raises SelectorTookTooLong.

    The time of a selector grows with the number of elements. For each element, `:has()` looks at
    all elements within it, and a combinator in a group at all elements around it. So a power of the
    depth is a factor of the time.
    """
    power = _power_of_depth(selector)
    level: list[turbohtml.Element] = document.select(":root") if power else []
    depth = steps = 0
    while level:
        depth += 1
        steps += len(level) * depth**power
        if steps > MOST_STEPS:
            raise SelectorTookTooLong
        nodes = (child for element in level for child in element.children)
        level = [node for node in nodes if isinstance(node, turbohtml.Element)]


@dataclass
class _SelectorPart:
    """A selector in parentheses."""

    is_has: bool = False
    is_combined: bool = False
    #: the highest power of the groups within it
    inner: int = 0

    @property
    def power(self) -> int:
        return self.is_has + self.is_combined + self.inner


@lru_cache(maxsize=256)
def _power_of_depth(selector: str) -> int:
    """The power of a document's depth in the time that the selector takes; 0 if the depth does not
    matter.
    """
    groups, is_attribute = [_SelectorPart()], False
    for token in TOKEN.findall(selector):
        sign = token.strip() or " "
        if sign in ("[", "]"):
            is_attribute = sign == "["
        elif is_attribute:
            continue
        elif sign.endswith("("):
            groups.append(_SelectorPart(is_has=len(sign) > 1))
        elif sign == ")" and len(groups) > 1:
            power = groups.pop().power
            groups[-1].inner = max(groups[-1].inner, power)
        elif sign in " >+~":
            groups[-1].is_combined = True
    return groups[0].power if groups[0].inner else 0
