"""Mean-value analysis of a closed network of queues, exact for single servers.

M. Reiser, S. S. Lavenberg: Mean-Value Analysis of Closed Multichain Queuing Networks, Journal of
the ACM 27 (1980), pages 313 to 322. A resource of several servers is approximated after Seidmann,
Schweitzer and Shalev-Oren (1987): one server that is as fast as all, and a delay for the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """What workers share. Each of the copies has these servers, and an equal part of the pages."""

    name: str
    demand: float  # ms of service a page
    source: str
    servers: int = 1
    copies: int = 1

    @property
    def queued(self) -> float:
        """ms a page at one copy, as one server"""
        return self.demand / (self.servers * self.copies)

    @property
    def delay(self) -> float:
        """ms a page for which nobody queues"""
        return self.demand * (self.servers - 1) / self.servers


@dataclass(frozen=True)
class Solution:
    workers: int
    rate: float  # pages a ms
    think: float  # ms a page of the worker alone
    waits: tuple[float, ...]  # ms a page at each resource, queues and service, all copies
    utilisations: tuple[float, ...]

    @property
    def response(self) -> float:
        return sum(self.waits)


def solve(think: float, resources: Sequence[Resource], workers: int) -> Solution:
    """The steady state for so many workers, each with a page in hand."""
    lengths = [0.0] * len(resources)  # of the queue at one copy
    waits = list(lengths)
    rate = 0.0
    for present in range(1, workers + 1):
        waits = [
            each.delay + each.copies * each.queued * (1 + length)
            for each, length in zip(resources, lengths, strict=True)
        ]
        rate = present / (think + sum(waits))
        lengths = [
            rate * (wait - each.delay) / each.copies
            for each, wait in zip(resources, waits, strict=True)
        ]
    used = tuple(rate * each.queued for each in resources)
    return Solution(workers, rate, think, tuple(waits), used)


def saturation(think: float, resources: Sequence[Resource]) -> tuple[float, Resource]:
    """The number of workers at which the asymptotes of the rate meet, and the resource that
    saturates first.
    """
    first = max(resources, key=lambda each: each.queued)
    return (think + sum(each.demand for each in resources)) / first.queued, first
