"""Fixtures for idle jobs."""

from __future__ import annotations

import pytest

from crawling.jobs.turns import IdleTurn


@pytest.fixture
def looks_after_each_page(monkeypatch):
    """Check after each page whether a job waits, and see rows that the test itself has not yet
    committed, too.
    """
    goes_on = IdleTurn.goes_on

    def looked(turn):
        if not turn.is_over:
            turn.look()
        return goes_on(turn)

    monkeypatch.setattr(IdleTurn, "goes_on", looked)
