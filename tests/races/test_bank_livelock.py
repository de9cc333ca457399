"""Rivals that give everything back when they are refused, and ask again at once, for ever: each of
them finishes.
"""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from allocation.models import Process, Request
from allocation.services import (
    RequestKind,
    RequestOutcome,
    cancel_request,
    finish_process,
    release_resources,
    request_resources,
)

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_SECONDS = 60


def take_all(process: int, first: str, then: str) -> int:
    """Take one class, then the other, without ever waiting; returns how often it had to begin
    again.
    """
    begun, end = 0, time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        begun += 1
        start = now(process, first, RequestKind.START)
        if not start.granted:
            continue
        growth = now(process, then, RequestKind.GROWTH, start.epoch)
        if growth.granted:
            finish_process(process=process)
            return begun - 1
        release_resources(process=process, epoch=start.epoch, release_id=uuid4(), amounts=None)
    raise AssertionError(f"process {process} began {begun} times and never got both")


def now(process: int, key: str, kind: RequestKind, epoch: int | None = None) -> RequestOutcome:
    """Ask for one unit; stop asking where it is not granted at once."""
    request_id = uuid4()
    asked = {"process": process, "amounts": {key: 1}, "request_id": request_id, "kind": kind}
    outcome = request_resources(**asked, epoch=epoch)
    return outcome if outcome.granted else cancel_request(request_id=request_id)


def test_all_who_release_and_ask_again_finish(make_pool, make_process, meanwhile):
    pool = make_pool(1, 1)
    processes = [make_process(pool, f"p{i}", (1, 1)) for i in range(6)]

    rivals = [
        meanwhile(take_all, process=process.pk, first=first, then=then)
        for process, (first, then) in zip(processes, [("a", "b"), ("b", "a")] * 3, strict=True)
    ]
    again = [rival.result() for rival in rivals]

    assert Process.objects.filter(state="finished").count() == 6
    assert sum(again) > 0, "they never were in each other's way"
    assert not Request.objects.filter(state="waiting").exists()
