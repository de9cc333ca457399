"""Our own programs that read files from strangers. A file that makes a program exceed its limits
ends only that program.

A program has an empty environment, a separate session, and limits of memory, time, output and
files, which it sets before it reads anything (`sandbox_program`). It ends with the process that
started it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import Enum, auto
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from types import TracebackType
from typing import IO, Any, Self

from crawling.machine.sandbox_program import NO_MEMORY, REFUSED

#: the directory in which a program finds this project
ROOT = Path(__file__).parents[2]
#: the ways in which the interpreter reports a failed allocation: MemoryError, SystemError, or a
#: line on the error output
LACKS_MEMORY = (b"MemoryError", b"SystemError", b"lost sys.stderr")
#: the most characters of a program's last message that are kept, and of the output that is searched
#: for the message
MOST_WORDS, MOST_ERRORS = 400, 64 * 1024

Program = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    memory_bytes: int
    #: the limit of processor time, for each task if there are several; None if the limit of
    #: wall-clock time suffices
    cpu_seconds: int | None
    #: the limit of wall-clock time, for each task if there are several; the first task includes the
    #: start of the program
    seconds: float
    #: the limit of its output, and of each file that it writes
    output_bytes: int
    #: the limit on all files in its folder
    folder_bytes: int | None = None
    #: the cores on which it runs; empty for those of its parent
    cores: Sequence[int] = ()


class ProgramLimit(Enum):
    MEMORY = auto()
    TIME = auto()
    OUTPUT = auto()


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The end of a program. If it exceeded no limit and neither refused nor failed, its work is
    done.
    """

    output: bytes = b""
    excess: ProgramLimit | None = None
    #: the reason, in the program's own words, why it refused its input
    refusal: str = ""
    #: the end of its message about a fault; it may contain bytes of strangers
    fault: str = ""


class ProgramSandbox:
    """Runs a module whose main part calls `run_sandboxed`. Arguments must not contain strangers'
    text.
    """

    def __init__(
        self, module: str, *arguments: str, limits: SandboxLimits, folder: Path | None = None
    ) -> None:
        self._module, self._arguments = module, arguments
        self._limits, self._folder = limits, folder

    def run(self, given: IO[bytes] | None = None, *, kept_open: Sequence[int] = ()) -> ProgramEnd:
        """Run the program once, with `given` as its input. kept_open: further file descriptors that
        the program inherits.
        """
        with TemporaryFile() as output, TemporaryFile() as errors:
            program = self.start(given, output, errors, kept_open=kept_open)
            try:
                program.wait(self._limits.seconds)
            except subprocess.TimeoutExpired:
                return ProgramEnd(excess=ProgramLimit.TIME)
            finally:
                end_program(program)
            return _program_end(program.returncode, _whole_content(output), _last_errors(errors))

    def follow(
        self,
        note: Callable[[bytes], None],
        *,
        every_seconds: float,
        kept_open: Sequence[int] = (),
    ) -> ProgramEnd:
        """Run the program once, and pass each line of its output to `note`. After `every_seconds`
        without a line, pass the last line again, or an empty one. An error that `note` raises ends
        the program.
        """
        until = time.monotonic() + self._limits.seconds
        with TemporaryFile() as errors:
            program = self.start(None, subprocess.PIPE, errors, kept_open=kept_open)
            assert program.stdout
            try:
                line = b""
                while True:
                    if self._is_folder_full():
                        return ProgramEnd(excess=ProgramLimit.OUTPUT)
                    if time.monotonic() > until:
                        return ProgramEnd(excess=ProgramLimit.TIME)
                    if select.select([program.stdout], [], [], every_seconds)[0]:
                        following = program.stdout.readline(MOST_WORDS)
                        if not following:
                            break
                        line = following
                    note(line)
                program.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                return ProgramEnd(excess=ProgramLimit.TIME)
            finally:
                end_program(program)
            return _program_end(program.returncode, b"", _last_errors(errors))

    def start(
        self,
        given: IO[bytes] | int | None,
        output: IO[bytes] | int,
        errors: IO[bytes] | int,
        *,
        kept_open: Sequence[int] = (),
    ) -> Program:
        """Start the program. The caller must end it. The program also ends with the thread that
        starts it, since that thread counts as its parent.
        """
        limits = json.dumps({**asdict(self._limits), "parent": os.getpid()})
        return subprocess.Popen(  # noqa: S603  # our own program, and our own arguments
            [sys.executable, "-E", "-s", "-m", self._module, limits, *self._arguments],
            stdin=subprocess.DEVNULL if given is None else given,
            stdout=output,
            stderr=errors,
            bufsize=0 if output == subprocess.PIPE and given is None else -1,
            cwd=ROOT,
            env={},
            pass_fds=kept_open,
            start_new_session=True,
        )

    def start_silent(self, *, kept_open: Sequence[int], errors: IO[bytes] | None = None) -> Program:
        """Start the program as `start` does, without input and output: it works on its
        descriptors.
        """
        nothing = subprocess.DEVNULL
        return self.start(nothing, nothing, errors or nothing, kept_open=kept_open)

    def _is_folder_full(self) -> bool:
        most = self._limits.folder_bytes
        if self._folder is None or most is None:
            return False
        return sum(map(_file_size, self._folder.rglob("*"))) > most


class TaskSandbox:
    """Gives tasks to a module whose main part calls `work_on_tasks` within `run_sandboxed`. The
    first task starts the program. A task that exceeds its limits ends it, and the next task starts
    another.

    A task is a line of JSON and a document. The answer is a line with the size of the result, then
    the result. A subclass defines the tasks.
    """

    def __init__(self, module: str, *arguments: str, limits: SandboxLimits) -> None:
        self._cpu_seconds, self._seconds = limits.cpu_seconds, limits.seconds
        self._most = limits.output_bytes
        whole = SandboxLimits(limits.memory_bytes, None, limits.seconds, limits.output_bytes)
        self._sandbox = ProgramSandbox(module, *arguments, limits=whole)
        self._program: Program | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def answer(self, task: dict[str, Any], document: Iterable[bytes]) -> bytes | None:
        """The result of a task, in which `size` is the length of the document. None if the task
        exceeds the program's limits.
        """
        if self._program is None:
            self._program = self._sandbox.start(
                subprocess.PIPE, subprocess.PIPE, subprocess.DEVNULL
            )
        timer = Timer(self._seconds, self._program.kill)
        timer.start()
        try:
            line = json.dumps({**task, "cpu_seconds": self._cpu_seconds}).encode()
            return _exchange_task(self._program, line, document, self._most)
        except (BrokenPipeError, EOFError):
            self._end()
            return None
        finally:
            timer.cancel()

    def _end(self) -> None:
        if self._program:
            end_program(self._program)
            self._program = None


def end_program(program: Program) -> None:
    """Kill a program that is still at work, and close its pipes."""
    program.kill()
    for pipe in (program.stdin, program.stdout):
        if pipe:
            with suppress(BrokenPipeError):
                pipe.close()
    program.wait()


def _exchange_task(program: Program, task: bytes, document: Iterable[bytes], most: int) -> bytes:
    """Raises BrokenPipeError or EOFError if the program ends, or if its answer would be too
    long.
    """
    assert program.stdin
    assert program.stdout
    program.stdin.write(task + b"\n")
    for piece in document:
        program.stdin.write(piece)
    program.stdin.flush()
    line = program.stdout.readline(MOST_WORDS).strip()
    if not line.isdigit() or int(line) > most:
        raise EOFError
    result = program.stdout.read(int(line))
    if len(result) < int(line):
        raise EOFError
    return result


def _program_end(status: int, output: bytes, errors: bytes) -> ProgramEnd:
    words = errors[-MOST_WORDS:].decode(errors="replace").strip()
    if status == 0:
        return ProgramEnd(output)
    if status == REFUSED:
        return ProgramEnd(refusal=words or "It was refused.")
    # the kernel sends SIGKILL if the machine has no memory left
    if status in (NO_MEMORY, -signal.SIGKILL) or any(mark in errors for mark in LACKS_MEMORY):
        return ProgramEnd(excess=ProgramLimit.MEMORY)
    if status == -signal.SIGXFSZ:
        return ProgramEnd(excess=ProgramLimit.OUTPUT)
    if status == -signal.SIGXCPU:
        return ProgramEnd(excess=ProgramLimit.TIME)
    return ProgramEnd(fault=words or f"It ended with status {status}.")


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # the program has removed the file meanwhile
        return 0


def _last_errors(errors: IO[bytes]) -> bytes:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - MOST_ERRORS))
    return errors.read()


def _whole_content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
