"""A pre-resolver's sign of life, for the gate, for those beside it, and for the page that shows its
lanes.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now

from dnscache.models import DnsPreResolver
from dnscache.preresolver.gate import ALIVE_SECONDS
from dnscache.preresolver.preresolver import LaneState

EVERY_SECONDS = 1.0
#: a machine without heartbeat for so long is deleted
KEPT = timedelta(days=1)


def send_heartbeat(
    machine: str, *, slots: int, lanes: LaneState, names: int, threads_saved: float
) -> tuple[int, int]:
    """Write a heartbeat.

    Returns the machine's place among those alive, from 0, and how many they are.

    By it they share the names out; while a machine joins or leaves, two may ask for one name, which
    harms nothing.
    """
    depths = {
        key: getattr(lanes, key)
        for key in ("main_threads", "main_depth", "slow_threads", "slow_depth", "counts")
    }
    told = {
        "beat_at": Now(),
        "slots": slots,
        "names": names,
        "threads_saved": threads_saved,
        **depths,
    }
    DnsPreResolver.objects.update_or_create(machine=machine, defaults=told)
    DnsPreResolver.objects.filter(beat_at__lt=Now() - KEPT).delete()
    alive = sorted(living().values_list("machine", flat=True))
    return alive.index(machine), len(alive)


def living() -> QuerySet[DnsPreResolver]:
    """Those that have beaten lately."""
    return DnsPreResolver.objects.filter(beat_at__gt=Now() - timedelta(seconds=ALIVE_SECONDS))


def rest(machine: str) -> None:
    """Delete the heartbeat of this machine, so that the gate opens at once."""
    DnsPreResolver.objects.filter(machine=machine).delete()
