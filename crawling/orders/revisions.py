"""The values of an order's fields, as an edit is told."""

from __future__ import annotations

#: entries of a list that are told
TOLD = 20


def format_value(value: object) -> str:
    """Lists and tables entry by entry; what is not set is no limit."""
    if isinstance(value, list):
        more = f" and {len(value) - TOLD:,} more" if len(value) > TOLD else ""
        return ", ".join(map(str, value[:TOLD])) + more or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {text}" for name, text in value.items()) or "none"
    return "no limit" if value is None else str(value)
