"""Names that are hard to resolve."""

from __future__ import annotations

from tests.webs.case import Case

CASES: list[Case] = []
