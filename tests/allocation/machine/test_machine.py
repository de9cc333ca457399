"""Chance against the bank: whatever processes, operators and time do, the book agrees and every
process can finish.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.allocation.machine.chance import OnPaper, OnRows

pytestmark = pytest.mark.slow

CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def sizes(small: tuple[int, int], full: tuple[int, int]) -> list:
    """(examples, steps): small ones for every push, the full ones for the drill."""
    return [small, pytest.param(*full, marks=[pytest.mark.drill, pytest.mark.timeout(1800)])]


@pytest.mark.parametrize(("examples", "steps"), sizes((100, 25), (3000, 50)))
def test_pure_core_keeps_its_promises_whatever_happens(examples, steps):
    run_state_machine_as_test(
        OnPaper, settings=settings(CALM, max_examples=examples, stateful_step_count=steps)
    )


@pytest.mark.django_db
@pytest.mark.parametrize(("examples", "steps"), sizes((12, 25), (300, 50)))
def test_bank_keeps_its_promises_whatever_happens(examples, steps):
    run_state_machine_as_test(
        OnRows, settings=settings(CALM, max_examples=examples, stateful_step_count=steps)
    )
