"""Extraction rules: a CSS selector, with `::attr(NAME)` behind it for an attribute instead of the
text.
"""

from __future__ import annotations

import re
from functools import lru_cache

import turbohtml

ATTRIBUTE = re.compile(r"(.*)::attr\(\s*([A-Za-z_:][A-Za-z0-9_:.-]*)\s*\)\s*", re.DOTALL)


class BadSelector(ValueError):
    """The text is no CSS selector; the message says where it goes wrong."""


@lru_cache(maxsize=256)
def read_selector(rule: str) -> tuple[str, str]:
    """Return the selector and the attribute's name, "" for the text. Raises BadSelector."""
    match = ATTRIBUTE.fullmatch(rule)
    selector, attribute = (match[1], match[2].lower()) if match else (rule, "")
    try:
        turbohtml.parse("").select(selector)
    except ValueError as error:
        reason = str(error).splitlines()[0][:200]
        raise BadSelector(f"{rule[:100]!r} is no CSS selector: {reason}") from error
    return selector, attribute
