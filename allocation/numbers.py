"""Whole numbers that come as text, from addresses and forms."""

from __future__ import annotations


def whole_number(text: str | None, *, most_digits: int = 18) -> int | None:
    """The number, from 0 up; None for anything else. 18 digits fit PostgreSQL's bigint."""
    is_number = text and text.isascii() and text.isdigit() and len(text) <= most_digits
    return int(text) if text and is_number else None
