"""Containers and service managers give less memory than the machine has."""

from __future__ import annotations

import psutil
import pytest

from crawlsite.services.postgres import usable_bytes

MIB = 2**20


@pytest.mark.parametrize(
    ("groups", "limits", "usable"),
    [
        ("0::/", {"memory.max": 512 * MIB}, 512 * MIB),
        ("0::/a.slice/b.service", {"a.slice/b.service/memory.max": 256 * MIB}, 256 * MIB),
        (
            "0::/a.slice/b.service",
            {"a.slice/memory.max": 128 * MIB, "a.slice/b.service/memory.max": "max"},
            128 * MIB,
        ),
        ("0::/docker/of-the-machine", {"memory.max": 64 * MIB}, 64 * MIB),
        ("2:cpu:/x\n4:memory:/x", {"memory/x/memory.limit_in_bytes": 32 * MIB}, 32 * MIB),
    ],
    ids=["container", "service", "slice", "path of the machine", "version 1"],
)
def test_the_least_limit_around_the_process_counts(tmp_path, groups, limits, usable):
    (tmp_path / "groups").write_text(groups)
    for path, most in limits.items():
        file = tmp_path / "limits" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{most}\n")

    assert usable_bytes(groups=tmp_path / "groups", limits=tmp_path / "limits") == usable


@pytest.mark.parametrize("groups", ["0::/", "4:memory:/x", ""])
def test_without_a_limit_it_is_all_of_the_machine(tmp_path, groups):
    (tmp_path / "groups").write_text(groups)

    found = usable_bytes(groups=tmp_path / "groups", limits=tmp_path / "limits")

    assert found == psutil.virtual_memory().total


def test_other_systems_than_linux_have_no_groups(tmp_path):
    nowhere = tmp_path / "nowhere"

    assert usable_bytes(groups=nowhere, limits=nowhere) == psutil.virtual_memory().total
