"""What ends a start of the servers, or their run: an error that says what to do, or a signal.
SIGINT, SIGTERM and SIGHUP become an exception, but only where the program waits.
"""

from __future__ import annotations

import signal
import time
from types import FrameType, TracebackType


class StartError(Exception):
    """The servers cannot start; the message says why and what to do."""


class StopRequested(Exception):
    """A signal asked this program to end."""


class StopSignals:
    """While entered, a signal is remembered and the next `pause` raises StopRequested.

    So no child is ever lost between its start and the line that notes it. A SIGHUP that nohup
    ignores stays ignored.
    """

    def __init__(self) -> None:
        self.received: list[int] = []
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> StopSignals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.received.append(number)

    def pause(self, seconds: float) -> None:
        if self.received:
            raise StopRequested
        time.sleep(seconds)  # the caller's pause between two looks; a signal ends its next one
