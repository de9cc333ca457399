"""The simulation of many workers agrees with what is known of closed networks of queues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulation.costs import CLOCKED, SCENES, with_batches, with_cores, with_databases
from benchmarks.simulation.network import Resource, saturation, solve

times = st.floats(0.01, 50)
counts = st.integers(1, 8)
networks = st.lists(
    st.builds(Resource, st.just("any"), times, st.just(""), counts, counts), min_size=1, max_size=5
)
workers = st.integers(1, 150)


@given(times, times, workers)
def test_a_single_queue_is_the_machine_repairman(think, demand, count):
    """Erlang's closed form of M/M/1//N: p0 = 1 / sum N!/(N-k)! (S/Z)^k."""
    term, total = 1.0, 1.0
    for k in range(count):
        term *= (count - k) * demand / think
        total += term

    rate = solve(think, [Resource("one", demand, "")], count).rate

    assert rate == pytest.approx((1 - 1 / total) / demand, rel=1e-6)


@given(times, counts, workers)
def test_a_balanced_network_without_thinking_has_its_closed_form(demand, queues, count):
    found = solve(0, [Resource("one", demand, "")] * queues, count)

    assert found.rate == pytest.approx(count / (demand * (count + queues - 1)))


@given(times, networks, workers)
def test_every_worker_is_somewhere(think, resources, count):
    found = solve(think, resources, count)

    assert found.rate * (think + found.response) == pytest.approx(count)


@given(times, networks, workers)
def test_no_resource_is_used_more_than_wholly(think, resources, count):
    assert max(solve(think, resources, count).utilisations) <= 1 + 1e-9


@given(times, networks, workers)
def test_the_rate_is_below_both_asymptotes_and_grows_with_workers(think, resources, count):
    fewer, more = (solve(think, resources, each).rate for each in (count, count + 1))
    size, first = saturation(think, resources)

    assert fewer <= more * (1 + 1e-9)
    assert fewer <= min(count / size, 1) / first.queued * (1 + 1e-9)


@given(times, times, counts, workers)
def test_copies_of_a_resource_are_as_many_queues_of_a_part(think, demand, copies, count):
    together = solve(think, [Resource("all", demand, "", copies=copies)], count)
    apart = solve(think, [Resource("part", demand / copies, "")] * copies, count)

    assert together.rate == pytest.approx(apart.rate)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_one_worker_has_the_rate_of_its_cycle(scene):
    assert scene.think > 0
    assert solve(scene.think, scene.resources, 1).rate == pytest.approx(1 / scene.cycle)
    assert solve(scene.think, with_cores(scene, 16).resources, 1).rate == pytest.approx(
        1 / scene.cycle
    )


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_no_remedy_lowers_the_rate(scene):
    plain = solve(scene.think, scene.resources, 200).rate

    for helped in (with_batches(scene, 10), with_databases(scene, 8), with_cores(scene, 16)):
        assert solve(helped.think, helped.resources, 200).rate >= plain * (1 - 1e-9)


def test_what_is_asked_by_the_clock_bounds_the_workers_by_period_and_cost():
    for each in CLOCKED:
        assert each.most * each.cost == pytest.approx(each.period)
