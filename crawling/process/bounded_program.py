"""Programs of our own that work on documents of strangers, one after the other. What is too much in
a document ends its program, and nothing else; the next document gets a new one.

A task is a line of JSON and a document; the answer is a line with the size of the result, and the
result.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any, Self

from crawling.process.orphans import stop_with_parent

#: where a program finds this project
ROOT = Path(__file__).parents[2]


class BoundedProgram:
    """Gives tasks to a module that calls `work_on_tasks`; the first task starts it. A subclass says
    what is asked.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = (sys.executable, "-E", "-s", "-m", module, *arguments)
        self._program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def answer(
        self, task: dict[str, Any], document: Iterable[bytes], *, seconds: float
    ) -> bytes | None:
        """The result of a task, which says with `size` how long the document is; None: it is too
        much for the program. seconds: for it; the first has the start of the program, too.
        """
        program = self._started()
        timer = Timer(seconds, program.kill)
        timer.start()
        try:
            return _exchange(program, json.dumps(task).encode(), document)
        except (BrokenPipeError, EOFError):
            self._end()
            return None
        finally:
            timer.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._program is None:
            # our own program; what strangers wrote is no argument
            self._program = subprocess.Popen(  # noqa: S603
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env={},
            )
        return self._program

    def _end(self) -> None:
        if self._program:
            self._program.kill()
            for pipe in (self._program.stdin, self._program.stdout):
                assert pipe
                with suppress(BrokenPipeError):
                    pipe.close()
            self._program.wait()
            self._program = None


def _exchange(program: subprocess.Popen[bytes], task: bytes, document: Iterable[bytes]) -> bytes:
    """Raises BrokenPipeError and EOFError if the program ends."""
    assert program.stdin
    assert program.stdout
    program.stdin.write(task + b"\n")
    for piece in document:
        program.stdin.write(piece)
    program.stdin.flush()
    line = program.stdout.readline()
    if not line:
        raise EOFError
    result = program.stdout.read(int(line))
    if len(result) < int(line):
        raise EOFError
    return result


def work_on_tasks(
    work: Callable[[dict[str, Any], bytes], bytes],
    *,
    memory_bytes: int,
    cpu_seconds: int | None = None,
) -> None:
    """The main part of such a program: work on each document within limits, until there is no more
    to do. cpu_seconds: of the processor, for each.
    """
    stop_with_parent()
    with suppress(OSError, ValueError):  # refused by macOS, or smaller already
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    while line := sys.stdin.buffer.readline():
        task = json.loads(line)
        document = sys.stdin.buffer.read(task["size"])
        if cpu_seconds is not None:
            used, hard = time.process_time(), resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used) + cpu_seconds, hard))
        result = work(task, document)
        sys.stdout.buffer.write(b"%d\n" % len(result))
        sys.stdout.buffer.write(result)
        sys.stdout.buffer.flush()
