"""What an address or a form asks for in its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LONGEST_TEXT = 200


def asked_text(query: Mapping[str, Any], name: str, *, most: int = LONGEST_TEXT) -> str:
    """The text of a field, as the database can have it: without NUL, trimmed, and cut; "" where the
    field is not given.
    """
    return str(query.get(name, "")).replace("\0", "").strip()[:most]
