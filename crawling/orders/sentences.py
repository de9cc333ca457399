"""Sentences for the mistakes that pydantic finds, in place of its own messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: pydantic's kind of error -> our sentence; the placeholders are from the error's context
SENTENCES = {
    "missing": "is required",
    "extra_forbidden": "is not a field of a crawl order; docs/orders.md lists all",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_unicode": "must be text; it holds half a character",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must be one line without control characters",
    "list_type": "must be a list",
    "dict_type": "must be a table of class and units, of name and selector, or of expression "
    "and weight",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def sentence_for(kind: str, context: Mapping[str, Any], otherwise: str) -> str:
    """Our sentence for pydantic's kind of error, or pydantic's own if we have none."""
    if kind == "too_short":
        return "needs at least one entry"
    if kind == "too_long":
        return (
            f"has {context['actual_length']} entries, at most {context['max_length']} are taken; "
            "split it over several crawls"
        )
    return SENTENCES[kind].format(**context) if kind in SENTENCES else otherwise
