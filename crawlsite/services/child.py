"""One child process: it is started in a session of its own, noted on disk, and identified with
certainty before it is signalled.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psutil

from crawlsite.services.account import Account
from crawlsite.services.directories import open_log
from crawlsite.services.forked_process import ForkedProcess
from crawlsite.services.stops import StartError

PR_SET_PDEATHSIG = 1
CLOCK_GRAIN_SECONDS = 0.1
_libc = ctypes.CDLL(None, use_errno=True)

#: signals that are sent one after the other, each with the seconds to wait for its effect
Stops = Sequence[tuple[signal.Signals, float]]


class WatchedProcess(Protocol):
    """The part of `subprocess.Popen` that a child's process must have."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...


@dataclass
class Child:
    """A running child, leader of its session; its forks belong to it unless they left the
    session.
    """

    name: str
    process: WatchedProcess
    note: Path
    stops: Stops
    log: Path
    #: whether the processes that it leaves behind get time to end
    lets_others_end: bool = False
    _left: list[psutil.Process] = field(default_factory=list)
    _left_until: float | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    def poll_end(self) -> bool:
        """Return whether the child has ended. If so, kill the processes that it left in its
        session; with `lets_others_end`, first let them stop, and return False until then.

        The kernel does not reuse a session's number while a member lives, and this method does not
        use the number again.
        """
        if self.process.returncode is not None and self._left_until is None:
            return True
        if self._left_until is None:
            if self.process.poll() is None:
                return False
            self._end_session()
        if self._left_until is not None and self._others_are_ending():
            return False
        self._left_until = None
        self.note.unlink(missing_ok=True)
        return True

    def _end_session(self) -> None:
        """End the remaining processes of its session. The child has just been found dead, so the
        number of its session can be used this once.
        """
        number, seconds = self.stops[0]
        if self.lets_others_end:
            self._left = [found for pid in _members(self.pid) if (found := _process_of(pid))]
            self._left_until = time.monotonic() + seconds
        _signal(
            _members(self.pid), number if self.lets_others_end else signal.SIGKILL, session=self.pid
        )

    def _others_are_ending(self) -> bool:
        """Whether a process of the child's session lives and has time left; after that time the
        process is killed.
        """
        self._left = [one for one in self._left if _is_alive(one)]
        if self._left_until is not None and time.monotonic() > self._left_until:
            for one in self._left:
                with suppress(psutil.Error):
                    one.kill()
            self._left = []
        return bool(self._left)

    def signal_all(self, number: signal.Signals) -> None:
        if not self.poll_end():
            _signal(_members(self.pid), number, session=self.pid)


def start_child(
    command: Sequence[str | Path],
    *,
    name: str,
    state_dir: Path,
    group: str,
    env: Mapping[str, str],
    cwd: Path,
    stops: Stops,
    account: Account | None = None,
    pass_fds: Sequence[int] = (),
    again: bool = False,
    lets_others_end: bool = False,
    work: Callable[[], None] | None = None,
) -> Child:
    """Start `command` with a log file. On Linux the kernel sends it the first stop signal when this
    thread ends.

    The children of one `group` are stopped together when their parent is gone. Call this from the
    main thread. With `again`, the log of the last start is continued, so that the reason for its
    end stays there. The child inherits no files but `pass_fds`: a pipe left open would make `make
    run | tee` hang. With `work`, a fork of this process does that work instead, with its
    environment, and shares its memory.
    """
    log = open_log(state_dir / "logs", name, go_on=again)
    before = die_with_parent(stops[0][0], account.before_exec if account else None)
    try:
        process: WatchedProcess
        if work:
            process = ForkedProcess(work, before=before, cwd=cwd, stdout=log, stderr=log)
        else:
            # the commands come from this package and the Procfile
            process = subprocess.Popen(  # noqa: S603
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
                pass_fds=pass_fds,
                preexec_fn=before,
                **(account.popen_arguments() if account else {}),
            )
    except FileNotFoundError as error:
        raise StartError(f"{command[0]}: no such program") from error
    finally:
        os.close(log)
    note = _note_down(process, notes_dir(state_dir, group) / name, stops)
    return Child(name, process, note, stops, state_dir / "logs" / f"{name}.log", lets_others_end)


def _note_down(process: WatchedProcess, note: Path, stops: Stops) -> Path:
    """Write the process's identity and its stop signals to a file, in case this program is
    killed.
    """
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(f"{birth_note(process.pid)} {int(stops[0][0])}\n")
    return note


def kernel_signals_orphans() -> bool:
    """Whether the kernel signals a child whose parent dies; on other systems `watchdog` does."""
    return hasattr(_libc, "prctl")


def die_with_parent(
    number: signal.Signals, before: Callable[[], None] | None = None
) -> Callable[[], None]:
    """Return the function that the child runs between fork and exec, so that it ends with its
    parent. On systems whose kernel does not signal orphans, the watchdog ends the child.
    """
    parent = os.getpid()

    def prepare() -> None:
        if before:
            before()
        if kernel_signals_orphans():
            # This comes after the change of account, which would clear the setting.
            _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)  # the parent was gone before this setting took effect

    return prepare


def stop_all(children: Sequence[Child], *, pause: Callable[[float], None] = time.sleep) -> None:
    """Stop children of one kind together: send each of their signals in turn, until none is
    left.
    """
    if not children:
        return
    for number, seconds in children[0].stops:
        for child in children:
            child.signal_all(number)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            remaining = [child for child in children if not child.poll_end()]
            if not remaining:
                return
            pause(0.02)


def birth_note(pid: int) -> str:
    """Return the process's identity, as `number start-time`."""
    return f"{pid} {psutil.Process(pid).create_time()}"


def live_process(note: str) -> int | None:
    """The number of the process that `birth_note` has described; None if it has ended."""
    try:
        pid, created = note.split()[:2]
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(created)) < CLOCK_GRAIN_SECONDS
        return process.pid if same and process.status() != psutil.STATUS_ZOMBIE else None
    except (ValueError, psutil.Error):
        return None


def notes_dir(state_dir: Path, group: str) -> Path:
    return state_dir / "pids" / group


def stop_left_over(notes: Path) -> bool:
    """Signal the children whose notes a killed parent has left in `notes`. Return whether one of
    them still runs.

    A note identifies a process by its number and its start time, since numbers are used again. The
    notes of ended processes are deleted.
    """
    running = False
    for note in sorted(notes.glob("*")):
        text = note.read_text()
        if leader := live_process(text):
            _signal(_members(leader), signal.Signals(int(text.split()[2])), session=leader)
            running = True
        else:
            note.unlink(missing_ok=True)
    return running


def _process_of(pid: int) -> psutil.Process | None:
    """The process with this number and start time; None if it has ended."""
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _members(session: int) -> set[int]:
    return {pid for pid in psutil.pids() if _session_of(pid) == session}


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _signal(pids: set[int], number: signal.Signals, *, session: int) -> None:
    for pid in pids:
        if _session_of(pid) == session:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
