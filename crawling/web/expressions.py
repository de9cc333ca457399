"""Regular expressions that operators type.

RE2 takes linear time whatever they type, so no expression can hold a worker up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        raise BadExpression(
            f"{text!r} is no regular expression of RE2: {reason}. RE2 has no look-around and no "
            "back-references"
        ) from error


def check_expressions(texts: Iterable[str]) -> None:
    """Raises ValueError that names up to three that are none."""
    wrong = []
    for text in texts:
        try:
            read_expression(text)
        except BadExpression as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError("; ".join(wrong[:3]))


class Expressions:
    """Several expressions; most URLs match none of them, which one search shows."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._each = [(text, read_expression(text)) for text in texts]
        self._any = _joined(texts)

    def __bool__(self) -> bool:
        return bool(self._each)

    def find(self, url: str) -> str:
        """The first expression that a URL holds, with its number; "" if there is none."""
        if self._any is not None and not self._any.search(url):
            return ""
        return next(
            (
                f"expression {n}, {text}"
                for n, (text, compiled) in enumerate(self._each, start=1)
                if compiled.search(url)
            ),
            "",
        )


def _joined(texts: Sequence[str]) -> Expression | None:
    """One expression for all of them; None: together they are too large, or one needs to stand
    alone.
    """
    try:
        return (
            read_expression("|".join(f"(?:{text})" for text in texts)) if len(texts) > 1 else None
        )
    except BadExpression:
        return None
