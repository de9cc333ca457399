"""The scene of many viewers and a busy program, as `make bench` plays it, in small."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from benchmarks.dashboard.clients import Report
from crawlsite.env import child_environment
from tests.crawlsite.programs import PROJECT


def test_the_report_says_how_long_half_nearly_all_and_all_took():
    report = Report()
    report.taken["program", 429] = [n / 1000 for n in range(1, 101)]
    report.late["operator"] += 1

    assert report.lines()[-2] == (
        "refused: 100, p50 50.0 ms, p95 95.0 ms, p99 99.0 ms, at most 100.0 ms"
    )
    assert "no answer in time: {'operator': 1}" in report.lines()[-1].replace("Counter", "")


@pytest.mark.drill
def test_nothing_times_out_beside_crawls(tmp_path):
    small = [
        "--operators",
        "5",
        "--requests",
        "30",
        "--seconds",
        "5",
        "--hosts",
        "2",
        "--width",
        "300",
        "--limits",
        "600",
    ]
    command = [sys.executable, "-m", "benchmarks.dashboard.viewers", *small]
    told = subprocess.run(
        command, cwd=PROJECT, env=child_environment({}), capture_output=True, text=True, check=True
    ).stdout

    assert "no answer in time: none" in told
    assert re.search(r"operator 200: [1-9]", told)
