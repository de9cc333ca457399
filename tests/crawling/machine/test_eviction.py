"""The memory of a process stays within bounds, at a cost that does not grow with them."""

import time

from hypothesis import given
from hypothesis import strategies as st

from crawling.machine.eviction import PORTION, forget_oldest


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(0, 40))
def test_the_latest_stay(keys, most):
    kept = {}
    for key in keys:
        kept.pop(key, None)
        kept[key] = None
    before = list(kept)

    gone = forget_oldest(kept, most)

    assert gone + list(kept) == before
    assert len(kept) <= most
    assert not gone or len(kept) >= most - most // PORTION


def test_a_full_memory_takes_in_a_page_of_many_links_as_fast_as_an_empty_one():
    kept = dict.fromkeys(range(200_000))
    began = time.thread_time()
    for key in range(200_000, 300_000):
        kept[key] = None
        forget_oldest(kept, 200_000)

    assert time.thread_time() - began < 1  # one by one they took four seconds
