"""Keep a checkpoint of the ledger every thousand events, so that the bank as of any event is found
quickly.
"""

from __future__ import annotations

import logging

from allocation.history.checkpoints import EVERY, replayed, restored, saved
from allocation.history.entries import entries
from allocation.models import LedgerCheckpoint, Pool
from allocation.rules.replay import Breach

logger = logging.getLogger(__name__)


def keep_checkpoints() -> int:
    """Keep those that have become due since the last call, and return how many; needs no lock,
    since events never change.

    Nothing is kept of a ledger that cannot be replayed: that is logged, and `audit_allocation`
    tells more.
    """
    return sum(_keep(pool, version) for pool, version in Pool.objects.values_list("pk", "version"))


def _keep(pool: int, version: int) -> int:
    last = LedgerCheckpoint.objects.filter(pool=pool).order_by("-version").first()
    if version - (last.version if last else 0) < EVERY:
        return 0
    kept = 0
    try:
        replay = restored(last.version, last.state) if last else replayed(pool, 0)
        for entry in entries(pool, after=replay.version, until=version - version % EVERY):
            replay.follow(entry)
            if entry.version % EVERY == 0:
                kept += LedgerCheckpoint.objects.get_or_create(
                    pool_id=pool, version=entry.version, defaults={"state": saved(replay)}
                )[1]
    except Breach as breach:
        logger.error(
            "the ledger cannot be replayed", extra={"pool_id": pool, "breach": str(breach)}
        )
    return kept
