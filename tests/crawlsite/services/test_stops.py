"""A pause ends with its time, with a child, and with a signal that asks for the end."""

import os
import signal
import subprocess
import threading
import time

import pytest

from crawlsite.services.stops import StopRequested, StopSignals

LONG = 60.0


@pytest.fixture
def signals():
    kept = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
    try:
        with StopSignals() as signals:
            yield signals
    finally:
        signal.signal(signal.SIGHUP, kept)


def test_a_pause_lasts_as_long_as_it_is_told_to(signals):
    began = time.monotonic()

    signals.pause(0.2)

    assert 0.2 <= time.monotonic() - began < LONG


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_pause_in_which_it_comes(signals, number):
    began = time.monotonic()
    sender = threading.Timer(0.2, os.kill, (os.getpid(), number))
    sender.start()

    with pytest.raises(StopRequested):
        signals.pause(LONG)

    assert time.monotonic() - began < LONG / 2
    with pytest.raises(StopRequested):
        signals.pause(0)


def test_the_end_of_a_child_ends_a_pause(signals):
    began = time.monotonic()
    with subprocess.Popen(["sleep", "0.2"]):
        signals.pause(LONG)

    assert time.monotonic() - began < LONG / 2


def test_afterwards_signals_do_what_they_did_before():
    def before(number, frame):
        received.append(number)

    received, kept = [], signal.signal(signal.SIGTERM, before)
    try:
        with StopSignals():
            pass
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, kept)

    assert received == [signal.SIGTERM]
