"""Faults of a moment: robots.txt, redirects, handshakes and rests that cost time, and no URLs."""

from __future__ import annotations

from tests.webs.case import Case

CASES: list[Case] = []
