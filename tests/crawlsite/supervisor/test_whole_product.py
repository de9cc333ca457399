"""`make run` with the real Procfile, stopped in the middle of its work."""

from __future__ import annotations

import re
import signal
import time

import pytest

from tests.crawlsite.programs import PROJECT, eventually, free_port, still_running


@pytest.fixture
def product(start):
    """The whole product on a fresh state directory, ready."""
    product = start(
        (PROJECT / "Procfile").read_text(), DEMO="true", DEMO_PORT=str(free_port()), WORKERS="2"
    )
    product.until_it_says(r"^ready")
    return product


@pytest.mark.drill
def test_in_the_middle_of_a_crawl_all_of_it_stops_within_ten_seconds_and_goes_on_afterwards(
    product, start
):
    eventually(lambda: "running" in product.manage("crawl", "list").stdout)
    pids = product.pids()

    began = time.monotonic()
    product.process.send_signal(signal.SIGTERM)
    product.process.wait(10)

    assert time.monotonic() - began < 10
    assert still_running(pids) == []

    again = start(
        (PROJECT / "Procfile").read_text(), DEMO="true", DEMO_PORT=str(free_port()), WORKERS="2"
    )
    again.until_it_says(r"^ready")
    assert not again.says("password")
    assert len(re.findall(r"^\d Demo: ", again.manage("crawl", "list").stdout, re.MULTILINE)) == 2
