"""A program for a sandbox: its first argument says what it does there."""

import json
import os
import sys
import time
from pathlib import Path

from crawling.machine.sandbox_program import run_sandboxed, work_on_tasks


def refuse():
    raise ValueError("this is none")


def burn():
    while True:
        pass


def tell_itself():
    told = {
        "environment": dict(os.environ),
        "pid": os.getpid(),
        "session": os.getsid(0),
        "given": sys.stdin.read(),
    }
    sys.stdout.write(json.dumps(told))


def fill(folder):
    for number in range(1_000):
        Path(folder, f"{number}.bin").write_bytes(bytes(1_000))
        print(number, flush=True)


def count(pause):
    for number in range(3):
        print(number, flush=True)
        time.sleep(float(pause))  # a program that prints nothing for a while


def work(task, document):
    if task["what"] == "burn":
        burn()
    if task["what"] == "grow":
        bytearray(1 << 30)
    return document * task.get("times", 1) + b"%d" % os.getpid()


PROGRAMS = {
    "tell": tell_itself,
    "refuse": refuse,
    "burn": burn,
    "sleep": lambda: time.sleep(60),
    "grow": lambda: bytearray(1 << 30),
    "flood": lambda: sys.stdout.buffer.write(bytes(1 << 24)),
    "fail": lambda: 1 / 0,
    "die": lambda: os.kill(os.getpid(), 9),
    "fill": fill,
    "count": count,
    "tasks": lambda: work_on_tasks(work),
}


def main(what, *arguments):
    PROGRAMS[what](*arguments)


if __name__ == "__main__":
    run_sandboxed(main, ValueError)
