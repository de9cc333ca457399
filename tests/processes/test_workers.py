"""Tests that run in several processes end, and are told of, as in one."""

import subprocess
import sys

import pytest

from crawlsite.env import BASE_DIR

SUITE = """
import logging, os, signal, time
import pytest
from django.conf import settings

@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    yield os.getpid()
    with open({told!r}, "a") as told:
        print("ended", os.getpid(), file=told)

@pytest.mark.parametrize("number", range(40))
def test_it(number, made_once, tmp_path):
    tmp_path.joinpath("mine").touch(exist_ok=False)
    with open({told!r}, "a") as told:
        print(number, os.getpid(), tmp_path, settings.CACHES["default"]["LOCATION"], file=told)
    print("words of", number)
    logging.getLogger("crawling").error("logged by %d", number)
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    assert number != 7

@pytest.mark.timeout(1)
def test_that_takes_too_long():
    time.sleep(60)
"""


@pytest.fixture
def told(tmp_path):
    return tmp_path / "told"


def run(tmp_path, told, *options):
    tests = tmp_path / "test_some.py"
    tests.write_text(SUITE.format(told=str(told)))
    options = ("-p", "no:xdist", "-p", "tests.processes.workers", "-q", "-rA", *options)
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", *options, str(tests)]
    return subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=120)


def test_each_test_runs_once_and_one_that_kills_its_process_costs_itself(tmp_path, told):
    done = run(tmp_path, told, "-n", "3")

    assert done.returncode == 1, done.stderr
    lines = [line.split() for line in told.read_text().splitlines()]
    ran = [line for line in lines if line[0] != "ended"]
    assert sorted(int(number) for number, *_ in ran) == list(range(40))
    processes = {process for _, process, *_ in ran}
    assert len(processes) == 4  # one took the place of that which died
    assert len({database for *_, database in ran}) == 4
    assert len([line for line in lines if line[0] == "ended"]) == 3
    assert "38 passed" in done.stdout
    assert "3 failed" in done.stdout
    assert "Timeout (>1.0s)" in done.stdout
    assert "the process of this test ended with -9" in done.stdout
    assert "words of 7\n" in done.stdout
    assert "logged by 7" in done.stdout
    assert "Logging error" not in done.stdout + done.stderr


def test_the_first_failure_ends_the_run_if_it_is_to(tmp_path, told):
    done = run(tmp_path, told, "-n", "2", "--exitfirst")

    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert "39 passed" not in done.stdout


def test_an_error_outside_tests_ends_the_run(tmp_path, told):
    (tmp_path / "conftest.py").write_text(
        "def pytest_runtest_protocol(item):\n"
        "    if item.name == 'test_it[3]':\n"
        "        raise ZeroDivisionError('of the plugin')\n"
    )

    done = run(tmp_path, told, "-n", "2")

    assert done.returncode == pytest.ExitCode.INTERNAL_ERROR
    assert "ZeroDivisionError: of the plugin" in done.stdout + done.stderr
