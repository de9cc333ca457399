"""A text that everything has that an expression of RE2 finds: what an index can look for first."""

from __future__ import annotations

#: shorter ones are in most texts
SHORTEST = 3
#: escapes of one letter that stand for a class or a place, and end a text
CLASSES = frozenset("dDsSwWbBAz")
QUANTIFIERS = ("*", "?", "{")


def required_text(expression: str) -> str:
    """The longest text that stands in each string that a valid expression finds, in any case;
    empty: none of three characters is known.

    Only what stands outside of groups and classes is looked at. Linear.
    """
    if "|" in expression and _has_choice(expression):
        return ""
    texts, text, at = [""], "", 0
    while at < len(expression):
        piece, at = _piece(expression, at)
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


def _piece(expression: str, at: int) -> tuple[str | None, int]:
    """The character that the piece at this place stands for and where the next begins; empty: it
    stands for others or none, None: it is too unusual.
    """
    sign = expression[at]
    if sign == "\\":
        escaped = expression[at + 1 : at + 2]
        if escaped in CLASSES:
            return "", at + 2
        return (None if escaped.isalnum() else escaped), at + 2
    if sign == "[":
        return _behind_class(expression, at)
    if sign == "(":
        return _behind_group(expression, at)
    if sign == "{":
        return "", _behind(expression, "}", at)
    return ("" if sign in ".^$*+?" else sign), at + 1


def _behind(expression: str, end: str, at: int) -> int:
    found = expression.find(end, at)
    return len(expression) if found < 0 else found + 1


def _behind_class(expression: str, at: int) -> tuple[str | None, int]:
    begin = at
    at += 2 if expression[at + 1 : at + 2] == "^" else 1
    at += expression[at : at + 1] == "]"  # the first is one of the characters
    while at < len(expression) and expression[at] != "]":
        if expression[at : at + 2] == "[:":
            return None, at
        at += 2 if expression[at] == "\\" else 1
    return "", max(at + 1, begin + 1)


def _behind_group(expression: str, at: int) -> tuple[str | None, int]:
    depth = 0
    while at < len(expression):
        sign = expression[at]
        if sign == "\\":
            if expression[at + 1 : at + 2] == "Q":
                return None, at
            at += 2
            continue
        if sign == "[":
            piece, at = _behind_class(expression, at)
            if piece is None:
                return None, at
            continue
        depth += (sign == "(") - (sign == ")")
        at += 1
        if depth == 0:
            break
    return "", at


def _has_choice(expression: str) -> bool:
    """Whether it consists of several, outside of all groups."""
    at = 0
    while at < len(expression):
        if expression[at] == "|":
            return True
        piece, at = _piece(expression, at)
        if piece is None:
            return True
    return False
