"""Which URLs belong to a crawl (SEEDS W10)."""

import pytest

from crawling.rules.addresses import read_address
from crawling.rules.scope import DEEPEST, Scope

SEEDS = ["http://a.test/x", "https://b.test/", "http://c.test:8080/"]


@pytest.mark.parametrize("url", ["http://a.test/", "https://a.test/y?z", "http://b.test/", "http://c.test:8080/x"])
def test_the_seeds_hosts_are_in_scope(url):
    assert Scope.of_seeds(SEEDS, None).admits(read_address(url), 1)


@pytest.mark.parametrize("url", ["http://d.test/", "http://www.a.test/", "http://test/", "http://a.test:8080/", "http://c.test/"])
def test_every_other_host_is_out_of_scope(url):
    assert not Scope.of_seeds(SEEDS, None).admits(read_address(url), 1)


def test_what_is_deeper_than_the_limit_is_out_of_scope():
    scope = Scope.of_seeds(SEEDS, 2)

    assert [scope.admits(read_address("http://a.test/"), depth) for depth in range(4)] == [True, True, True, False]


def test_a_limit_of_zero_takes_the_seeds_alone():
    assert [Scope.of_seeds(SEEDS, 0).admits_depth(depth) for depth in (0, 1)] == [True, False]


def test_without_a_limit_a_crawl_goes_as_deep_as_a_depth_can_be_stored():
    scope = Scope.of_seeds(SEEDS, None)

    assert scope.admits_depth(DEEPEST)
    assert not scope.admits_depth(DEEPEST + 1)
