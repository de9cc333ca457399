"""Tests of deletion count rows right after a request, on machines of any speed."""

from __future__ import annotations

import pytest

from crawling.runs.housekeeping.run_removal import remove_rows


@pytest.fixture(autouse=True)
def a_minute_to_remove_rows(monkeypatch):
    """Allow a minute: on a slow machine, half a second is too short, and the rest would be left to
    the scheduler.
    """
    monkeypatch.setitem(remove_rows.__kwdefaults__, "seconds", 60.0)
