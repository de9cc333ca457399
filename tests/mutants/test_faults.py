"""Each planted fault makes the machine fail, within few examples.

A machine that cannot fail would prove nothing.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.allocation.machine.chance import OnPaper, OnRows
from tests.allocation.services.twins import compare_twins
from tests.mutants.faults import ALONE, PURE, SERVER, SERVICES
from tests.mutants.judging import found
from tests.mutants.planting import planted, planted_in_server

#: the first failure is enough, so nothing is shrunk; the same chances each time, so that a find is
#: a find for ever
HUNT = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@pytest.mark.parametrize("name", PURE)
def test_fault_in_the_rules_is_found(name):
    with found(), planted(PURE[name]):
        run_state_machine_as_test(
            OnPaper, settings=settings(HUNT, max_examples=500, stateful_step_count=30)
        )


@pytest.mark.django_db
@pytest.mark.parametrize("name", SERVICES)
def test_fault_in_the_services_is_found(name):
    with found(), planted(SERVICES[name]):
        run_state_machine_as_test(
            OnRows, settings=settings(HUNT, max_examples=60, stateful_step_count=30)
        )


@pytest.mark.django_db
@pytest.mark.parametrize("name", SERVER)
def test_fault_in_the_server_is_found(name):
    function, changes = SERVER[name]
    with found(), planted_in_server(function, changes):
        run_state_machine_as_test(
            OnRows, settings=settings(HUNT, max_examples=60, stateful_step_count=30)
        )


@pytest.mark.django_db
@pytest.mark.parametrize("name", ALONE)
def test_fault_in_what_the_server_decides_alone_is_found(name, make_pool, make_process):
    function, changes, first = ALONE[name]
    with found(), planted_in_server(function, changes):
        for seed in sorted(range(60), key=lambda seed: seed != first):
            compare_twins(seed, make_pool, make_process)
