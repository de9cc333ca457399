"""No lock without a test that goes red without it."""

from __future__ import annotations

import inspect

import pytest

from tests.mutants.faults import NEVER_QUICK
from tests.mutants.judging import found
from tests.mutants.locks import LOCKS, QUICK_LOCKS
from tests.mutants.planting import planted, planted_in_server
from tests.races import conftest


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", LOCKS)
def test_lock_has_a_test_that_goes_red_without_it(name, request, monkeypatch):
    monkeypatch.setattr(conftest, "PATIENCE_SECONDS", 0.5)
    fault, promise = LOCKS[name]
    fixtures = {
        fixture: request.getfixturevalue(fixture)
        for fixture in inspect.signature(promise).parameters
    }

    with found(), planted(NEVER_QUICK), planted(fault):
        promise(**fixtures)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", QUICK_LOCKS)
def test_lock_of_the_servers_own_decisions_has_a_test_that_goes_red_without_it(
    name, request, monkeypatch
):
    monkeypatch.setattr(conftest, "PATIENCE_SECONDS", 0.5)
    function, changes, promise = QUICK_LOCKS[name]
    fixtures = {
        fixture: request.getfixturevalue(fixture)
        for fixture in inspect.signature(promise).parameters
    }

    with found(), planted_in_server(function, changes):
        promise(**fixtures)
