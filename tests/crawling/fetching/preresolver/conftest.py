"""Threads and processes of these tests see only committed rows."""

from __future__ import annotations

import pytest

from allocation.models import Pool


@pytest.fixture
def pool(transactional_db, pool: Pool) -> Pool:
    return pool
