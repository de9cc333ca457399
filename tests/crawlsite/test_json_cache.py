"""Write access to Redis does not let code run in the web processes that read the cache."""

from __future__ import annotations

import json
import pickle

import django_rq
import pytest
from django.core.cache import cache


class Planted:
    """A pickle that makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.fixture
def redis(db):
    cache.clear()
    return django_rq.get_connection("background")


def test_a_pickle_in_the_cache_is_never_loaded(redis, tmp_path):
    trap = tmp_path / "trap"
    redis.set(cache.make_key("planted"), pickle.dumps(Planted(trap)))

    with pytest.raises(ValueError, match="decode"):
        cache.get("planted")

    assert not trap.exists()


def test_values_are_kept_as_json_and_numbers_can_be_counted_up(redis):
    cache.set("page", (1.5, "é", None))
    cache.add("count", 1)
    cache.incr("count")

    kept = [json.loads(redis.get(cache.make_key(name))) for name in ("page", "count")]

    assert kept == [[1.5, "é", None], 2]
    assert cache.get_many(["page", "count"]) == {"page": [1.5, "é", None], "count": 2}
