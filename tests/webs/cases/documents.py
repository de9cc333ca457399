"""Documents that are hostile to whoever reads them."""

from __future__ import annotations

from tests.webs.case import Case

CASES: list[Case] = []
