from __future__ import annotations

import pytest
from django.utils import timezone


@pytest.fixture
def clock(monkeypatch):
    """Return a function that sets the time."""
    return lambda now: monkeypatch.setattr(timezone, "now", lambda: now)
