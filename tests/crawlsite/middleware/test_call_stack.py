"""Whatever the depth at which a page is made, its calls take no memory from the system again and
again.
"""

from __future__ import annotations

import resource

import pytest

from crawlsite.middleware.call_stack import call_with_large_frame

CALLS = 1_000
#: of pages of memory that were not there; each time that Python takes a piece costs one or more
FEW = CALLS // 10


def leaf(number):
    return number + 1


def many_calls():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for number in range(CALLS):
        leaf(number)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def at_depth(depth, function):
    return at_depth(depth - 1, function) if depth else function()


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="not counted alike elsewhere")
def test_calls_take_memory_once_at_any_depth():
    assert max(at_depth(depth, many_calls) for depth in range(300)) > FEW  # as Python is
    assert (
        call_with_large_frame(lambda: max(at_depth(depth, many_calls) for depth in range(300)))()
        < FEW
    )
