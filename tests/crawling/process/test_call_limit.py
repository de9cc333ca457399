"""Calls of a package's code that must end soon, whatever that code makes of the exception."""

from __future__ import annotations

import sys
from functools import partial

import pytest

from crawling.process import call_limit
from crawling.process.call_limit import CALLS, CallTookTooLong, TimeExceeded


@pytest.fixture
def at_once(monkeypatch):
    """Calls are looked at all the time, and each is too long at once."""
    monkeypatch.setattr(call_limit, "CALL_SECONDS", 0.0)
    monkeypatch.setattr(call_limit, "LOOK_SECONDS", 0.0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def loop_for_ever():
    number = 0
    while number >= 0:
        number += 1


def lose_it_in_a_handler(lost: list[str]):
    try:
        loop_for_ever()
    except BaseException:
        lost.append("handler")
    loop_for_ever()


def lose_it_in_a_del(lost: list[str]):
    class Endless:
        def __del__(self):
            try:
                loop_for_ever()
            finally:
                lost.append("__del__")

    Endless()
    loop_for_ever()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("lose", [lose_it_in_a_handler, lose_it_in_a_del])
def test_a_call_that_loses_the_exception_is_told_again_until_it_ends(lose, monkeypatch):
    monkeypatch.setattr(call_limit, "CALL_SECONDS", 0.05)
    lost: list[str] = []

    with pytest.raises(CallTookTooLong):
        CALLS.call(lose, lost)

    assert lost  # it was lost, and another ended the call


def loop(times: int):
    for _ in range(times):
        pass


def test_the_exception_comes_neither_before_nor_after_the_called_code(at_once):
    """Before it, it could come within a lock's own code, which would then be held for good."""
    outcomes = {"ended": 0, "broken off": 0, "escaped": 0}
    for number in range(5000):
        called = partial(loop, number % 300) if number % 50 else loop_for_ever
        try:
            try:
                CALLS.call(called)
                outcomes["ended"] += 1
            except CallTookTooLong:
                outcomes["broken off"] += 1
        except TimeExceeded:
            outcomes["escaped"] += 1

    assert outcomes["escaped"] == 0
    assert outcomes["broken off"] >= 100
    assert outcomes["ended"] > 0
