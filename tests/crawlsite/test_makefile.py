"""The one command on a bare machine."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawlsite.programs import PROJECT, environment

MAKE = shutil.which("make") or "make"


@pytest.fixture
def project(tmp_path) -> Path:
    """The Makefile beside requirements that need no package."""
    shutil.copy(PROJECT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "requirements-dev.txt").touch()
    return tmp_path


def make(project: Path, *words: str, **env: str) -> subprocess.CompletedProcess:
    env = environment(PIP_NO_INDEX="1", **env)
    return subprocess.run(
        [MAKE, *words], cwd=project, env=env, capture_output=True, text=True, timeout=100
    )


def python_that(project: Path, script: str) -> str:
    """A Python that does as `script` says before it does its work."""
    path = project / "python"
    path.write_text(f'#!/bin/sh\n{script}\nexec {shlex.quote(sys.executable)} "$@"\n')
    path.chmod(0o755)
    return f"PYTHON={path}"


@pytest.fixture
def debian(project) -> str:
    """Debian's Python without python3-venv: a failed try leaves half a .venv behind, and only
    --without-pip works.
    """
    return python_that(
        project,
        'test "$*" = "-m venv .venv" && { mkdir -p .venv/bin; echo "ensurepip is not '
        'available"; exit 1; }',
    )


def test_python_without_ensurepip_still_makes_a_venv_and_a_second_make_installs_nothing(
    project, debian
):
    """Rule 16."""
    made = make(project, debian, ".venv/ready")

    assert made.returncode == 0, made.stderr
    assert made.stdout == ""
    assert (project / ".venv/bin/python").exists()
    assert not (project / ".venv/bin/pip").exists()

    again = make(project, python_that(project, "exit 9"), ".venv/ready")

    assert (again.returncode, again.stderr) == (0, "")


def test_too_old_python_is_told_what_to_name(project):
    old = make(project, python_that(project, "exit 1"), "run")

    assert old.returncode != 0
    assert "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 run" in old.stderr


SHELL = "chromium-headless-shell"


@pytest.fixture
def programs(tmp_path) -> Path:
    """The only directory of PATH: no browser, a user who is not root, and a package manager that
    brings the browser.
    """
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    scripts = {
        "id": "echo 1000",
        "apt-get": f': > "{programs}/{SHELL}"; /bin/chmod +x "{programs}/{SHELL}"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    return programs


def test_a_missing_browser_is_told_loudly_in_one_line(project, programs):
    told = make(project, "browser", PATH=str(programs), CI="")

    assert told.returncode == 0
    assert len(told.stderr.splitlines()) == 1
    assert "NO BROWSER" in told.stderr
    assert "SKIPPED" in told.stderr


def test_a_chromium_that_is_there_will_do(project, programs):
    (programs / "chromium").symlink_to("/bin/sh")

    found = make(project, "browser", PATH=str(programs), CI="true")

    assert (found.returncode, found.stderr) == (0, "")


def test_a_missing_browser_fails_where_nobody_reads_the_line(project, programs):
    assert make(project, "browser", PATH=str(programs), CI="true").returncode != 0


def test_root_gets_the_browser_once(project, programs):
    (programs / "id").write_text("#!/bin/sh\necho 0\n")

    first, second = (make(project, "browser", PATH=str(programs), CI="true") for _ in range(2))

    assert (first.returncode, second.returncode) == (0, 0)
    assert "installing Chromium" in first.stderr
    assert "NO BROWSER" not in first.stderr
    assert second.stderr == ""


def test_help_lists_every_target(project):
    targets = set(make(project, "help").stdout.split())

    assert {
        "setup",
        "run",
        "password",
        "browser",
        "test",
        "lint",
        "check",
        "lock",
        "screenshots",
        "help",
    } <= targets
