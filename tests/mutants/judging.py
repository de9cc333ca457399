"""Tell a fault that was found from one that is broken itself: a misspelt name in the planted text
is no find.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import IntegrityError

from allocation.errors import AllocationError
from allocation.rules.replay import Breach

#: The errors of a broken promise: an assertion of a test, a `pytest.raises` in vain, a constraint
#: of the database, a ledger that cannot be, and the bank on paper, which refuses what the faulty
#: bank did.
FINDS = (AssertionError, pytest.fail.Exception, IntegrityError, Breach, AllocationError)


@contextmanager
def found() -> Iterator[None]:
    """Expect the block to break a promise.

    Fails if it keeps all, or if something else goes wrong in it.
    """
    try:
        yield
    except FINDS:
        return
    except Exception as error:
        pytest.fail(f"the fault itself is broken: {type(error).__name__}: {error}")
    pytest.fail("the fault was not found")
