"""Finds out whether a work process stands still, and which URL makes it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from crawling.process.vitals import UrlInHand, Vitals


@dataclass(frozen=True)
class KillReason:
    """Why a work process has to be killed."""

    why: str
    #: the URL that is known to be the cause, or None
    culprit: int | None = None
    #: it waits for PostgreSQL, which no page can bring about
    is_explained: bool = False


def examine(pid: int, vitals: Vitals, lease_seconds: float) -> KillReason | None:
    """What is wrong with the process; None: nothing, or nothing yet.

    A document may cost half a lease of processor time. Where the interpreter stands still, a third
    of a lease is enough for the one that uses the processor: the lease, which was renewed at most a
    third before, has not run out yet.
    """
    beat_at, is_asking = vitals.last_beat()
    silence = time.monotonic() - beat_at
    hand, cost = _costliest(pid, vitals.hands())
    if hand and cost > lease_seconds / 2:
        return KillReason(f"one page took {cost:.0f} s of processor time", hand.url_id)
    if hand and silence > lease_seconds / 3 and cost > lease_seconds / 12 and not is_asking:
        return KillReason(
            f"one page kept everything else from running for {silence:.0f} s", hand.url_id
        )
    if silence > lease_seconds and not _is_stopped(pid):
        return KillReason(f"it gave no sign of life for {silence:.0f} s", is_explained=is_asking)
    return None


def _costliest(pid: int, hands: list[UrlInHand]) -> tuple[UrlInHand | None, float]:
    """Which URL in hand has used the most processor time, and how many seconds."""
    try:
        used = (
            {
                thread.id: thread.user_time + thread.system_time
                for thread in psutil.Process(pid).threads()
            }
            if hands
            else {}
        )
    except (psutil.Error, NotImplementedError):
        used = {}
    costs = [(used.get(hand.thread, hand.used_before) - hand.used_before, hand) for hand in hands]
    cost, hand = max(costs, key=lambda found: found[0], default=(0.0, None))
    return hand, cost


def _is_stopped(pid: int) -> bool:
    """Whether it was stopped by SIGSTOP and may be continued."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return True
