"""Regular expressions that operators type. RE2 takes linear time whatever they type, so no expression can hold a worker up."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import re2

#: a compiled expression: `search(text)` finds it anywhere
Expression: TypeAlias = Any
#: bytes that one may take compiled
MOST_MEMORY = 1 << 20


class BadExpression(ValueError):
    """The text is no regular expression; the message says why."""


@lru_cache(maxsize=1000)
def read_expression(text: str) -> Expression:
    """Compile an expression. Raises BadExpression."""
    options = re2.Options()
    options.log_errors, options.max_mem = False, MOST_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        said = error.args[0]
        reason = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise BadExpression(f"{text!r} is no regular expression of RE2: {reason}. RE2 has no look-around and no back-references") from error
