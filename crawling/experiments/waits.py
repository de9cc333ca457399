"""Wakes the threads of an experiment whose requests were granted by another thread's release."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from allocation.models import Request, RequestState


class WaitRegistry:
    """Each thread registers its request before sending it; after a release the releasing thread
    finds out which requests were served.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: dict[UUID, threading.Event] = {}

    @contextmanager
    def expecting(self, request_id: UUID) -> Iterator[threading.Event]:
        """Yield an event that is set once the request waits no more."""
        served = threading.Event()
        with self._lock:
            self._expected[request_id] = served
        try:
            yield served
        finally:
            with self._lock:
                del self._expected[request_id]

    def wake(self) -> None:
        """Wake the threads whose requests no longer wait: one query for all."""
        with self._lock:
            expected = dict(self._expected)
        if not expected:
            return
        for served in (
            Request.objects.filter(pk__in=expected)
            .exclude(state=RequestState.WAITING)
            .values_list("pk", flat=True)
        ):
            expected[served].set()

    def wake_all(self) -> None:
        """Wake all threads."""
        with self._lock:
            for served in self._expected.values():
                served.set()
