"""Hosts in network namespaces, joined by a bridge, as only root on Linux may make them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.crawlsite.programs import PROJECT

#: a network of our own: no address of it leaves the bridge
PREFIX = "10.77"
LINK = "eth0"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Host:
    """A namespace with one link to the bridge."""

    def __init__(self, name: str, namespace: str, addresses: Sequence[str]) -> None:
        self.name, self.namespace, self.address = name, namespace, addresses[0]

    def start(
        self, words: Sequence[str], log: Path, env: dict[str, str] | None = None, **options
    ) -> subprocess.Popen:
        """Start `python WORDS` on this host; its output is added to the file `log`."""
        with log.open("ab") as printed:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, sys.executable, *words],
                cwd=PROJECT,
                env=env,
                stdout=printed,
                stderr=subprocess.STDOUT,
                **options,
            )

    def set_link(self, state: str) -> None:
        """`down` cuts the host off, without a word to either side; `up` joins it again."""
        ip("-n", self.namespace, "link", "set", LINK, state)

    def throttle(self, rate: str | None) -> None:
        """Let the host send this much, such as `500kbit` a second (tc-tbf(8)); None: all."""
        tc = ["tc", "-n", self.namespace, "qdisc"]
        if rate is None:
            words = [*tc, "del", "dev", LINK, "root"]
        else:
            limits = ["tbf", "rate", rate, "burst", "32kbit", "latency", "2s"]
            words = [*tc, "add", "dev", LINK, "root", *limits]
        subprocess.run(words, check=True, capture_output=True, text=True)


@contextmanager
def joined_hosts(wanted: dict[str, Sequence[str]]) -> Iterator[dict[str, Host]]:
    """Yield hosts by name, each with its addresses, joined by a bridge in a namespace of its own.

    Skips the test where the system does not permit namespaces.
    """
    mark = f"crawlsite-{os.getpid()}"
    middle, made = f"{mark}-net", []
    try:
        try:
            for namespace in (middle, *(f"{mark}-{name}" for name in wanted)):
                ip("netns", "add", namespace)
                made.append(namespace)
            ip("-n", middle, "link", "add", "bridge", "type", "bridge")
            ip("-n", middle, "link", "set", "bridge", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            detail = getattr(error, "stderr", "") or error
            pytest.skip(f"hosts need network namespaces, which this system refuses: {detail}")
        for name, addresses in wanted.items():
            _join(f"{mark}-{name}", addresses, middle, f"to-{name}")
        yield {name: Host(name, f"{mark}-{name}", of) for name, of in wanted.items()}
    finally:
        for namespace in made:
            ip("netns", "del", namespace)


def _join(namespace: str, addresses: Sequence[str], middle: str, plug: str) -> None:
    peer = ["peer", "name", plug, "netns", middle]
    ip("-n", namespace, "link", "add", LINK, "type", "veth", *peer)
    for address in addresses:
        ip("-n", namespace, "addr", "add", f"{address}/16", "dev", LINK)
    for link in ("lo", LINK):
        ip("-n", namespace, "link", "set", link, "up")
    ip("-n", middle, "link", "set", plug, "master", "bridge", "up")
