"""Extraction rules: a CSS selector, with `::attr(NAME)` behind it for an attribute instead of the text."""

from __future__ import annotations

import re
from functools import lru_cache

import soupsieve

ATTRIBUTE = re.compile(r"(.*)::attr\(\s*([A-Za-z_:][A-Za-z0-9_:.-]*)\s*\)\s*", re.DOTALL)


class BadSelector(ValueError):
    """The text is no CSS selector; the message says where it goes wrong."""


@lru_cache(maxsize=256)
def read_selector(rule: str) -> tuple[soupsieve.SoupSieve, str]:
    """Return the compiled selector and the attribute's name, "" for the text. Raises BadSelector."""
    match = ATTRIBUTE.fullmatch(rule)
    selector, attribute = (match[1], match[2].lower()) if match else (rule, "")
    try:
        return soupsieve.compile(selector), attribute
    # What soupsieve raises for what it cannot parse, does not know, cannot read as a number, or finds nested too deep.
    except (soupsieve.SelectorSyntaxError, NotImplementedError, ValueError, RecursionError) as error:
        raise BadSelector(f"{rule[:100]!r} is no CSS selector: {str(error).splitlines()[0]}") from error
