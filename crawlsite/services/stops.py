"""The exceptions that end the start or the run of the servers: an error with its remedy, or a
signal. SIGINT, SIGTERM and SIGHUP become an exception only where the program waits.
"""

from __future__ import annotations

import select
import signal
import socket
from types import FrameType, TracebackType


class StartError(Exception):
    """The servers cannot start; the message says why and what to do."""


class StopRequested(Exception):
    """A signal asked this program to end."""


class StopSignals:
    """Within this context a signal is kept, and the next `pause` raises StopRequested.

    So no child is lost between its start and the line that notes it. A SIGHUP that nohup ignores
    stays ignored. The end of a child ends a pause, too.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> StopSignals:
        self._woken, self._wakes = socket.socketpair()
        self._woken.setblocking(False)
        self._wakes.setblocking(False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._remember)
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _wake)
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._woken.close()
        self._wakes.close()

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`, or until a child ends. Raises StopRequested for a signal, at once."""
        if not self.received and select.select([self._woken], [], [], seconds)[0]:
            self._woken.recv(4096)
        if self.received:
            raise StopRequested


def _wake(number: int, frame: FrameType | None) -> None:
    """Do nothing. Without a handler the signal would be ignored, and would not end a pause."""
