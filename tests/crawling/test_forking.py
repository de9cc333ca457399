"""A worker reads for all its shifts what none of them changes."""

import gc

from crawling.fetchers.dial import trusting
from crawling.forking import prepare_to_fork


def test_certificates_are_read_once_and_what_is_there_is_no_garbage():
    trusting.cache_clear()
    try:
        prepare_to_fork()
        prepare_to_fork()

        assert trusting.cache_info().misses == 1
        assert gc.get_freeze_count() > 100_000
    finally:
        gc.unfreeze()
