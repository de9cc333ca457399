"""Regular expressions that operators write, and the text that each match of an expression contains,
by which an index finds candidates.

RE2 takes linear time for any expression, so no expression can block a worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import re2

#: a compiled expression: `search(text)` finds it anywhere
Expression: TypeAlias = Any
#: the most bytes of a compiled expression
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
    """Raise ValueError, naming up to three invalid expressions."""
    wrong = []
    for text in texts:
        try:
            read_expression(text)
        except BadExpression as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError("; ".join(wrong[:3]))


class Expressions:
    """Several expressions. Most URLs match none of them, which a single search shows."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._each = [(text, read_expression(text)) for text in texts]
        self._any = _joined_expression(texts)

    def __bool__(self) -> bool:
        return bool(self._each)

    def find(self, url: str) -> str:
        """The first expression that matches a URL, with its number; "" if none matches."""
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


def _joined_expression(texts: Sequence[str]) -> Expression | None:
    """All expressions joined into one. None if that would be too large, or one of them must be used
    alone.
    """
    try:
        return (
            read_expression("|".join(f"(?:{text})" for text in texts)) if len(texts) > 1 else None
        )
    except BadExpression:
        return None


#: the length of the shortest useful text; most texts contain each shorter one
SHORTEST = 3
#: one-letter escapes that stand for a class or a position, and end a literal text
CLASSES = frozenset("dDsSwWbBAz")
QUANTIFIERS = ("*", "?", "{")


def required_text(expression: str) -> str:
    """The longest literal text that every match of a valid expression contains, ignoring case;
    empty if it has less than three characters.

    Only text outside groups and classes is used. Takes linear time.
    """
    if "|" in expression and _has_alternatives(expression):
        return ""
    texts, text, at = [""], "", 0
    while at < len(expression):
        piece, at = _literal_piece(expression, at)
        if piece is None:
            return ""
        behind = expression[at : at + 1]
        if behind in QUANTIFIERS:
            piece = ""
        text += piece
        if not piece or behind == "+":
            texts.append(text)
            text = ""
    longest = max([*texts, text], key=len)
    return longest if len(longest) >= SHORTEST else ""


def _literal_piece(expression: str, at: int) -> tuple[str | None, int]:
    """The character that the piece at this place denotes, and the place of the next piece. The
    character is empty if the piece stands for several characters or none, and None if the piece is
    too unusual.
    """
    sign = expression[at]
    if sign == "\\":
        escaped = expression[at + 1 : at + 2]
        if escaped in CLASSES:
            return "", at + 2
        return (None if escaped.isalnum() else escaped), at + 2
    if sign == "[":
        return _end_of_class(expression, at)
    if sign == "(":
        return _end_of_group(expression, at)
    if sign == "{":
        return "", _end_of_repetition(expression, "}", at)
    return ("" if sign in ".^$*+?" else sign), at + 1


def _end_of_repetition(expression: str, end: str, at: int) -> int:
    found = expression.find(end, at)
    return len(expression) if found < 0 else found + 1


def _end_of_class(expression: str, at: int) -> tuple[str | None, int]:
    begin = at
    at += 2 if expression[at + 1 : at + 2] == "^" else 1
    at += expression[at : at + 1] == "]"  # a bracket at the beginning is a character of the class
    while at < len(expression) and expression[at] != "]":
        if expression[at : at + 2] == "[:":
            return None, at
        at += 2 if expression[at] == "\\" else 1
    return "", max(at + 1, begin + 1)


def _end_of_group(expression: str, at: int) -> tuple[str | None, int]:
    depth = 0
    while at < len(expression):
        sign = expression[at]
        if sign == "\\":
            if expression[at + 1 : at + 2] == "Q":
                return None, at
            at += 2
            continue
        if sign == "[":
            piece, at = _end_of_class(expression, at)
            if piece is None:
                return None, at
            continue
        depth += (sign == "(") - (sign == ")")
        at += 1
        if depth == 0:
            break
    return "", at


def _has_alternatives(expression: str) -> bool:
    """Whether the expression has alternatives outside all groups."""
    at = 0
    while at < len(expression):
        if expression[at] == "|":
            return True
        piece, at = _literal_piece(expression, at)
        if piece is None:
            return True
    return False
