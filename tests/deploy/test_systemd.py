"""The units of systemd."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.deploy.processes import DEPLOY, LINES, SHARED

UNITS = DEPLOY / "systemd"
SERVICES = sorted(UNITS.glob("*.service"))
VERIFY = shutil.which("systemd-analyze")
#: what the units expect on a machine, and what is there in its place while they are verified
INSTALLED = "/opt/crawlsite/.venv/bin/python"


def values(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def test_the_target_runs_each_process_of_the_procfile():
    wanted = " ".join(values((UNITS / "crawlsite.target").read_text(), "Wants")).split()

    assert {
        re.sub(r"^crawlsite@(\w+)\.service$|^crawlsite-(worker)@\d+\.service$", r"\1\2", unit)
        for unit in wanted
    } | {"release"} == LINES


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_each_unit_runs_a_line_of_the_procfile_after_the_release(path):
    [command] = values(path.read_text(), "ExecStart")
    program, name = command.rsplit(" ", 1)

    assert program == f"{INSTALLED} -m crawlsite.supervisor --only"
    assert name in LINES | {"%i"}
    assert name == "release" or values(path.read_text(), "Requires") == [
        "crawlsite-release.service"
    ]


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_no_unit_has_more_rights_or_memory_than_it_needs(path):
    text = path.read_text()

    assert values(text, "User") == ["crawlsite"]
    assert values(text, "NoNewPrivileges") == ["true"]
    assert values(text, "CapabilityBoundingSet") == [""]
    assert values(text, "ProtectSystem") == ["strict"]
    assert len(values(text, "MemoryMax")) == 1


def test_the_example_of_settings_has_those_that_all_processes_share():
    told = (DEPLOY / "environment.example").read_text()

    assert set(re.findall(r"^([A-Z_]+)=", told, re.MULTILINE)) == SHARED


@pytest.mark.skipif(VERIFY is None, reason="NOT VERIFIED: systemd-analyze is missing (systemd)")
def test_systemd_reads_each_unit_without_a_warning(tmp_path):
    shutil.copytree(UNITS, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.glob("*.service"):
        path.write_text(path.read_text().replace(INSTALLED, sys.executable))
    wanted = " ".join(values((UNITS / "crawlsite.target").read_text(), "Wants")).split()

    said = subprocess.run(
        [VERIFY, "verify", "--man=no", "crawlsite.target", "crawlsite-release.service", *wanted],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (said.returncode, said.stdout + said.stderr) == (0, "")
