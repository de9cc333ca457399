"""Cells of CSV tables that a spreadsheet reads as text. Pure."""

from __future__ import annotations

import re
from typing import Any

#: With these a formula begins (OWASP, CSV Injection), in full width, too; blanks before them do
#: not help.
SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
NUMBER = re.compile(r"[+-]?[0-9]{1,40}(?:[.,][0-9]{1,40})?(?:[eE][+-]?[0-9]{1,4})?")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet could take the text for a formula; a plain number is none."""
    if text[:1] in ("\t", "\r", "\n"):
        return True
    return text.lstrip().startswith(SIGNS) and NUMBER.fullmatch(text.strip()) is None


def guarded(cell: Any) -> Any:
    """The cell, with an apostrophe in front of a text that could be taken for a formula."""
    return f"'{cell}" if isinstance(cell, str) and is_formula(cell) else cell
