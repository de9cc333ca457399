"""Each planted fault makes the machine fail, within few examples.

A machine that cannot fail would prove nothing.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.allocation.machine.chance import OnPaper, OnRows
from tests.allocation.machine.rules import BankMachine
from tests.allocation.services.twins import compare_twins
from tests.mutants.faults import ALONE, PURE, SERVER, SERVICES
from tests.mutants.judging import found
from tests.mutants.planting import planted, planted_in_server

#: the first failure is enough, so nothing is shrunk; the same chances each time, so that a find is
#: a find for ever
HUNT = settings(
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)
#: by chances of another seed, one of the faults took 30 s of the processor, and another 10
SEED = 5


def hunt(machine: type[BankMachine], examples: int) -> None:
    """Run a machine until it fails, at most so many examples."""
    fresh = seed(SEED)(type(machine.__name__, (machine,), {}))
    run_state_machine_as_test(
        fresh, settings=settings(HUNT, max_examples=examples, stateful_step_count=30)
    )


@pytest.mark.parametrize("name", PURE)
def test_fault_in_the_rules_is_found(name):
    with found(), planted(PURE[name]):
        hunt(OnPaper, 500)


@pytest.mark.django_db
@pytest.mark.parametrize("name", SERVICES)
def test_fault_in_the_services_is_found(name):
    with found(), planted(SERVICES[name]):
        hunt(OnRows, 60)


@pytest.mark.django_db
@pytest.mark.parametrize("name", SERVER)
def test_fault_in_the_server_is_found(name):
    function, changes = SERVER[name]
    with found(), planted_in_server(function, changes):
        hunt(OnRows, 60)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ALONE)
def test_fault_in_what_the_server_decides_alone_is_found(name, make_pool, make_process):
    function, changes, first = ALONE[name]
    with found(), planted_in_server(function, changes):
        for seed in sorted(range(60), key=lambda seed: seed != first):
            compare_twins(seed, make_pool, make_process)
