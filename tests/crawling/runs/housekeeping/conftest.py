"""Tests of deletion count rows right after a request, on machines of any speed."""

from __future__ import annotations

import pytest

from crawling.runs.housekeeping.run_removal import remove_rows


@pytest.fixture(autouse=True)
def a_minute_to_remove_rows(monkeypatch):
    """A slow machine leaves to the scheduler what half a second is too short for."""
    monkeypatch.setitem(remove_rows.__kwdefaults__, "seconds", 60.0)
