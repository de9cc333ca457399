"""Chance against the bank: whatever processes, operators and time do, the book agrees and everybody can finish."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.allocation.machine.chance import OnPaper, OnRows

CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def test_pure_core_keeps_its_promises_whatever_happens():
    run_state_machine_as_test(OnPaper, settings=settings(CALM, max_examples=150, stateful_step_count=30))


@pytest.mark.django_db
def test_bank_keeps_its_promises_whatever_happens():
    run_state_machine_as_test(OnRows, settings=settings(CALM, max_examples=12, stateful_step_count=25))
