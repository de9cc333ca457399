"""Programs that work on what strangers wrote, within limits."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from tempfile import TemporaryFile

import psutil
import pytest

from crawling.machine.sandbox import (
    ROOT,
    ProgramEnd,
    ProgramLimit,
    ProgramSandbox,
    SandboxLimits,
    TaskSandbox,
)
from crawling.machine.sandbox_program import ORPHANED
from tests.stack import wait_until

PROGRAM = "tests.crawling.machine.programs"
LIMITS = SandboxLimits(
    memory_bytes=200 * 1024 * 1024, cpu_seconds=20, seconds=60.0, output_bytes=1024 * 1024
)


def sandbox(*arguments, folder=None, **limits):
    return ProgramSandbox(PROGRAM, *arguments, limits=replace(LIMITS, **limits), folder=folder)


def test_a_program_has_its_input_and_nothing_else(monkeypatch):
    monkeypatch.setenv("SECRET", "known to the parent")
    with TemporaryFile() as given:
        given.write(b"some bytes")
        given.seek(0)

        end = sandbox("tell").run(given)

    told = json.loads(end.output)
    assert end == ProgramEnd(end.output)
    assert told["given"] == "some bytes"
    assert "SECRET" not in told["environment"]
    assert told["session"] == told["pid"]


@pytest.mark.parametrize(
    ("what", "limits", "excess"),
    [
        ("grow", {}, ProgramLimit.MEMORY),
        ("die", {}, ProgramLimit.MEMORY),
        ("burn", {"cpu_seconds": 1}, ProgramLimit.TIME),
        ("sleep", {"seconds": 0.3}, ProgramLimit.TIME),
        ("flood", {}, ProgramLimit.OUTPUT),
    ],
)
def test_what_takes_too_much_ends_the_program_and_says_of_what(what, limits, excess):
    end = sandbox(what, **limits).run()

    assert end == ProgramEnd(excess=excess)


def test_a_refusal_is_in_the_program_s_own_words():
    assert sandbox("refuse").run().refusal == "this is none"


def test_a_fault_is_no_result():
    end = sandbox("fail").run()

    assert "ZeroDivisionError" in end.fault
    assert end == ProgramEnd(fault=end.fault)


def test_a_program_ends_with_the_process_that_started_it():
    parent = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "from tests.crawling.machine.test_sandbox import sandbox; sandbox('burn').run()",
        ],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "crawlsite.settings"},
    )
    wait_until(lambda: psutil.Process(parent.pid).children())
    (program,) = psutil.Process(parent.pid).children()

    parent.kill()
    parent.wait()

    wait_until(lambda: not program.is_running() or program.status() == psutil.STATUS_ZOMBIE)


def test_a_program_whose_parent_was_gone_before_it_looked_reads_nothing():
    limits = json.dumps({"parent": 1})

    status = subprocess.run([sys.executable, "-m", PROGRAM, limits, "tell"], cwd=ROOT).returncode

    assert status == ORPHANED


def test_lines_are_passed_on_and_silence_is_noticed():
    lines = []

    end = sandbox("count", "0.3").follow(lines.append, every_seconds=0.1)

    assert end == ProgramEnd()
    assert list(dict.fromkeys(filter(None, lines))) == [b"0\n", b"1\n", b"2\n"]
    assert len(lines) > 3


def test_a_program_is_ended_by_whom_it_tells_something():
    def refuse(line):
        if line:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        sandbox("count", "60").follow(refuse, every_seconds=0.1)

    assert not [one for one in psutil.Process().children() if PROGRAM in one.cmdline()]


def test_a_full_folder_ends_a_program(tmp_path):
    end = sandbox("fill", str(tmp_path), folder=tmp_path, folder_bytes=50_000).follow(
        lambda line: None, every_seconds=0.1
    )

    assert end.excess is ProgramLimit.OUTPUT


def test_a_program_that_says_nothing_for_too_long_is_ended():
    end = sandbox("sleep", seconds=0.3).follow(lambda line: None, every_seconds=0.1)

    assert end.excess is ProgramLimit.TIME


@pytest.fixture
def tasks():
    with TaskSandbox(PROGRAM, "tasks", limits=replace(LIMITS, cpu_seconds=1)) as tasks:
        yield tasks


def ask(tasks, what="work", document=b"x", **task):
    return tasks.answer({"what": what, "size": len(document), **task}, [document])


def test_tasks_share_a_program_until_one_is_too_much_for_it(tasks):
    first = ask(tasks)
    assert ask(tasks) == first

    assert ask(tasks, "burn") is None
    second = ask(tasks)
    assert ask(tasks, "grow") is None
    assert ask(tasks, times=2_000_000) is None

    assert len({first, second, ask(tasks)}) == 3


def test_no_program_of_tasks_stays_behind(tasks):
    ask(tasks)
    (program,) = (one for one in psutil.Process().children() if PROGRAM in one.cmdline())

    tasks.__exit__(None, None, None)

    assert not program.is_running()
