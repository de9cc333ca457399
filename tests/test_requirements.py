"""The installed packages are those that were looked at: each version is pinned, with the hashes of
its files.
"""

from __future__ import annotations

import re

import pytest

from crawlsite.settings import BASE_DIR

PINNED = re.compile(r"([A-Za-z0-9._-]+(?:\[[a-z,]+\])?)==([^ ;]+)")
HASH = re.compile(r" +--hash=sha256:[0-9a-f]{64}")


def entries(text: str) -> list[str]:
    """The requirements with their hashes; a backslash joins lines."""
    joined = text.replace("\\\n", "")
    return [line for line in joined.splitlines() if line and not line.lstrip().startswith("#")]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_with_hashes(name):
    found = entries((BASE_DIR / name).read_text())
    loose = [line for line in found if not PINNED.match(line) or not HASH.search(line)]

    assert len(found) > 20
    assert not loose


@pytest.mark.parametrize("name", ["requirements.in", "requirements-dev.in"])
def test_every_direct_requirement_has_an_upper_bound(name):
    asked = entries((BASE_DIR / name).read_text())

    assert asked
    assert not [line for line in asked if not line.startswith("-c ") and ",<" not in line]


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_every_direct_requirement_is_pinned_within_its_bounds(name):
    """Else `make lock` was forgotten."""
    asked = {
        re.split(r"[>=<\[; ]", line)[0].lower()
        for line in entries((BASE_DIR / f"{name}.in").read_text())
        if not line.startswith("-c ")
    }
    pinned = {
        PINNED.match(line)[1].partition("[")[0].lower()
        for line in entries((BASE_DIR / f"{name}.txt").read_text())
    }

    assert asked <= pinned


def test_make_installs_by_hashes_alone():
    recipe = (BASE_DIR / "Makefile").read_text()

    (install,) = re.findall(r"^INSTALL = .*$", recipe, re.MULTILINE)
    assert "--require-hashes" in install
    assert "--generate-hashes" in recipe
