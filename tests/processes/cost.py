"""Prints the files of tests with the processor time that they take: in the process of the tests, in
the programs that it starts, among them a browser, and in the servers.

By elapsed time a test that waits looks expensive, and one that keeps PostgreSQL busy looks cheap.
To be loaded by `-n 0 -p tests.processes.cost`, for some folders at a time.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

SHOWN = 40
KINDS = ("tests", "programs", "servers")
BY_FILE: dict[str, Counter[str]] = defaultdict(Counter)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    before = seconds()
    yield
    file = BY_FILE[item.nodeid.partition("::")[0]]
    file["count"] += 1
    for kind, taken in seconds().items():
        # ended programs whose parent did not wait for them are missing, so a difference may be
        # negative
        file[kind] += max(0.0, taken - before[kind])


def seconds() -> dict[str, float]:
    """The seconds of processor time so far, by kind."""
    own = psutil.Process()
    return {
        "tests": time.process_time(),
        "programs": ended_below(own) + sum(map(with_ended, own.children(recursive=True))),
        "servers": sum(map(with_ended, servers(own))),
    }


def servers(own: psutil.Process) -> list[psutil.Process]:
    """The processes beside our own that were started by the process that started PostgreSQL and
    Valkey.
    """
    bringing = own.parent()
    if bringing is None or "crawlsite.services" not in bringing.cmdline():
        return []
    ours = {own, *own.children(recursive=True)}
    return [one for one in bringing.children(recursive=True) if one not in ours]


def with_ended(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return times.user + times.system + ended_below(process)
    return 0.0


def ended_below(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return times.children_user + times.children_system
    return 0.0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    def whole(file: Counter[str]) -> float:
        return sum(file[kind] for kind in KINDS)

    terminalreporter.section("seconds of a processor")
    terminalreporter.line("".join(f"{head:>9}" for head in ("in all", *KINDS)) + "  files")
    for name, file in sorted(BY_FILE.items(), key=lambda one: -whole(one[1]))[:SHOWN]:
        figures = "".join(f"{figure:9.1f}" for figure in (whole(file), *(file[k] for k in KINDS)))
        terminalreporter.line(f"{figures}  {name} ({file['count']:.0f})")
    terminalreporter.line(f"{sum(map(whole, BY_FILE.values())):9.1f}  in all")
