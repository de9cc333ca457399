"""A worker reads for all its shifts what none of them changes."""

import gc

from crawling.fetching.worker.jobs import prepare_to_fork


def test_what_is_there_before_the_fork_is_no_garbage():
    before = gc.get_threshold()
    try:
        prepare_to_fork()

        assert gc.get_freeze_count() > 100_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
