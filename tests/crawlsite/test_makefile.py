"""The one command on a bare machine."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawlsite.programs import PROJECT, environment


@pytest.fixture
def project(tmp_path) -> Path:
    """The Makefile beside requirements that need no package."""
    shutil.copy(PROJECT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "requirements-dev.txt").touch()
    return tmp_path


def make(project: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", *words], cwd=project, env=environment(PIP_NO_INDEX="1"), capture_output=True, text=True, timeout=100)


def python_that(project: Path, script: str) -> str:
    """A Python that does as `script` says before it does its work."""
    path = project / "python"
    path.write_text(f'#!/bin/sh\n{script}\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return f"PYTHON={path}"


def test_python_without_ensurepip_still_makes_a_venv(project):
    """Rule 16: Debian's without python3-venv; a failed try leaves half a .venv behind, and only --without-pip works."""
    debian = python_that(project, 'test "$*" = "-m venv .venv" && { mkdir -p .venv/bin; echo "ensurepip is not available"; exit 1; }')

    made = make(project, debian, ".venv/ready")

    assert made.returncode == 0, made.stderr
    assert made.stdout == ""
    assert (project / ".venv/bin/python").exists()
    assert not (project / ".venv/bin/pip").exists()


def test_second_make_installs_nothing(project):
    make(project, python_that(project, ""), ".venv/ready")

    again = make(project, python_that(project, "exit 9"), ".venv/ready")

    assert (again.returncode, again.stderr) == (0, "")


def test_too_old_python_is_told_what_to_name(project):
    old = make(project, python_that(project, "exit 1"), "run")

    assert old.returncode != 0
    assert "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 run" in old.stderr


def test_help_lists_every_target(project):
    targets = set(make(project, "help").stdout.split())

    assert {"setup", "run", "password", "test", "lint", "check", "lock", "help"} <= targets
