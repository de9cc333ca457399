"""Which contexts are kept between two pages of their hosts, by their number and their memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from crawling.web.rendering.kept_tabs import LARGEST_BYTES, MOST_IDLE, KeptTabs
from crawling.web.rendering.tab import BrowserTab

MIB = 1024 * 1024
HOLD = "import sys; held = bytearray(b'x') * (int(sys.argv[1]) << 20); print(flush=True); input()"


@contextmanager
def process_with(mebibytes: int) -> Iterator[int]:
    """A process that has so much memory, for the block."""
    command = [sys.executable, "-I", "-c", HOLD, str(mebibytes)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as process:
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def keep_all(count: int, processes: set[int]) -> tuple[list[str], KeptTabs]:
    """Keep so many contexts of hosts 0, 1, … with these processes. Return the hosts of those that
    are to be closed, in this order.
    """
    tabs = KeptTabs(lambda _: None, lambda _: None)
    closed: list[BrowserTab] = []
    for number in range(count):
        key = str(number), "", "", 0, 0
        tab = BrowserTab(key, None, None, None, "", "", processes)  # type: ignore[arg-type]
        closed += tabs._keep(tab)
    return [tab.key[0] for tab in closed], tabs


def test_beyond_the_most_contexts_those_left_first_are_closed():
    closed, _ = keep_all(MOST_IDLE + 2, set())

    assert closed == ["0", "1"]


def test_contexts_of_much_memory_are_fewer():
    with process_with(mebibytes=80) as process:
        closed, tabs = keep_all(8, {process})

    assert closed == ["0", "1"]
    assert tabs.processes() == {process}


def test_a_context_that_alone_has_much_memory_is_closed():
    with process_with(mebibytes=LARGEST_BYTES // MIB + 1) as process:
        closed, tabs = keep_all(1, {process})

    assert closed == ["0"]
    assert not tabs.processes()
