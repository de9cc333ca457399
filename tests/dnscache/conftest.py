"""A resolver of the test's own, with a clock that the test sets."""

from __future__ import annotations

import pytest

from dnscache.lookup import exchanges
from dnscache.resolver import Resolver


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make_resolver(dns_server, clock):
    """Return a function that makes a resolver like that of a worker's process: with an empty memory
    and the shared database.
    """
    exchanges.take()  # drop the exchanges that threads of an earlier test made with its server
    return lambda **options: Resolver(servers=(dns_server.address,), clock=clock, **options)


@pytest.fixture
def resolver(make_resolver):
    return make_resolver()
