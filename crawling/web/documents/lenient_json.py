"""JSON as pages have it: with comments, in wrappers against old browsers, with control characters,
and with a comma or a semicolon too many.

Each step reads the text once, from its beginning to its end.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

#: A text is left as it is. One that is not closed reaches to the end, as else each of its quotation
#: marks would be tried as a beginning.
STRING = r'"(?:[^"\\]++|\\.?)*+"?+'
#: signs that hide a script from what reads no scripts, in comments or not
WRAPPER = r"(?://[ \t]*+|/\*\s*+)?+(?:<!\[CDATA\[|(?:<!)?+\]\]>|<!--|-->)(?:\s*+\*/)?+"
COMMENT = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+|//[^\r\n\u2028\u2029]*+"
HTML_COMMENT = r"<!--(?:[^-]++|-(?!->))*+(?:-->)?+"
#: what JSON knows outside texts neither as a sign nor as a blank
ODD_BLANK = (
    r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064"
    r"\u3000\ufeff]++"
)
WRAPPED = re.compile(f"({STRING})|{WRAPPER}|{COMMENT}|{ODD_BLANK}", re.DOTALL)
COMMENTED = re.compile(f"({STRING})|{HTML_COMMENT}|{WRAPPER}|{COMMENT}|{ODD_BLANK}", re.DOTALL)
TOO_MANY = re.compile(rf"({STRING})|,(?=\s*+[\]}}])", re.DOTALL)
#: what may stand behind the value
ENDS = "; \t\n\r"


def read_json(text: str) -> Any:
    """Read JSON, leniently where it is none as it is.

    Raises ValueError, which says what is wrong with the text as it is, and RecursionError.
    """
    try:
        return _strict(text)
    except ValueError as error:
        wrong = error
    for noise in (WRAPPED, COMMENTED):
        try:
            return _strict(_without(TOO_MANY, _without(noise, text)).rstrip(ENDS))
        except ValueError:
            continue
    raise wrong


def _strict(text: str) -> Any:
    """Texts may have control characters, such as line breaks."""
    return json.loads(text, strict=False, parse_constant=_no_json)


def _without(noise: re.Pattern[str], text: str) -> str:
    return noise.sub(r"\1 ", text)


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")
