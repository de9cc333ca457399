"""Tells a fault that was found from one that is itself broken: a misspelt name in the planted text
does not count as found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import IntegrityError

from allocation.errors import AllocationError
from allocation.rules.replay import Breach

#: The errors of a broken promise: a test's failed assertion, a `pytest.raises` without an
#: exception, a constraint of the database, an impossible ledger, and a refusal of the bank on paper
#: where the faulty bank granted.
FINDS = (AssertionError, pytest.fail.Exception, IntegrityError, Breach, AllocationError)


@contextmanager
def found() -> Iterator[None]:
    """Expect the block to break a promise.

    Fails if the block keeps all of them, or if another kind of error occurs in it.
    """
    try:
        yield
    except FINDS:
        return
    except Exception as error:
        pytest.fail(f"the fault itself is broken: {type(error).__name__}: {error}")
    pytest.fail("the fault was not found")
