"""The values of an order's fields, as an edit is told."""

from __future__ import annotations


def in_words(value: object) -> str:
    """Lists and tables entry by entry; what is not set is no limit."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {text}" for name, text in value.items()) or "none"
    return "no limit" if value is None else str(value)
