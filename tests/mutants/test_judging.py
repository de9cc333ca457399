"""The judge of the planted faults: what it takes for a find, and what not."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection

from tests.allocation.machine.paper import Refused
from tests.mutants.judging import found
from tests.mutants.planting import Fault, planted


def a_function_of_ours(number):
    return f"{number} is {'even' if number % 2 == 0 else 'odd'}"


HERE = f"{__name__}:a_function_of_ours"


@pytest.mark.parametrize("error", [AssertionError("lost"), IntegrityError("twice"), Refused()])
def test_broken_promise_is_a_find(error):
    with found():
        raise error


def test_promise_that_a_test_expected_in_vain_is_a_find():
    with found(), pytest.raises(ValueError, match="never"):
        pass


def test_fault_that_nothing_notices_is_not_found():
    with pytest.raises(pytest.fail.Exception, match="not found"), found():
        pass


@pytest.mark.parametrize(
    ("new", "what"),
    [
        ("numbr % 2 == 0", "NameError"),
        ("number % 0 == 0", "ZeroDivisionError"),
        ("number %", "SyntaxError"),
    ],
)
def test_planted_text_that_does_not_work_is_broken(new, what):
    with (
        pytest.raises(pytest.fail.Exception, match=f"broken: {what}"),
        found(),
        planted(Fault(HERE, "number % 2 == 0", new)),
    ):
        a_function_of_ours(2)


@pytest.mark.django_db
def test_planted_sql_that_does_not_work_is_broken():
    with (
        pytest.raises(pytest.fail.Exception, match="broken: ProgrammingError"),
        found(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT no_such_column FROM allocation_pool")


def test_fault_is_planted_however_the_lines_of_the_function_are_broken():
    with planted(Fault(HERE, "'even' if number % 2 == 0", "'even' if number % 2 == 1")):
        assert a_function_of_ours(2) == "2 is odd"
    assert a_function_of_ours(2) == "2 is even"
