"""Checkpoints in CHECKPOINT_DIR: taken in turn by the background worker, the last few of each
run kept.
"""

from __future__ import annotations

import logging
import shutil
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.db.models import F, Max, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from redis.exceptions import RedisError

from crawling.archive.files import this_machine
from crawling.audit import note
from crawling.checkpoints.checkpoint_export import forget_unfinished, take_checkpoint
from crawling.errors import CheckpointTrouble
from crawling.jobs.rq_jobs import CHECKPOINT
from crawling.models import Checkpoint, Run
from crawling.models.jobs import WORKING_STATES

logger = logging.getLogger(__name__)

#: one that was asked for before that is not waited for: its job is over
LONGEST = timedelta(seconds=CHECKPOINT.seconds)


def ask_checkpoint(run: Run, *, by: User | None = None) -> Checkpoint:
    """Let the background worker take one, unless one is about to be taken.

    Raises CheckpointTrouble.
    """
    if settings.CHECKPOINT_DIR is None:
        raise CheckpointTrouble(
            "There is no place for checkpoints yet: set CHECKPOINT_DIR, or use `manage.py "
            "checkpoint export`."
        )
    under_way = run.checkpoints.filter(
        taken_at=None, trouble="", asked_at__gt=timezone.now() - LONGEST
    ).first()
    if under_way:
        return under_way
    with transaction.atomic():
        checkpoint = Checkpoint.objects.create(run=run, by=by)
        if by:
            note(by, run.crawl, "asked for a checkpoint", {"run": (None, run.number)})
        transaction.on_commit(partial(_enqueue, checkpoint))
    return checkpoint


def _enqueue(checkpoint: Checkpoint) -> None:
    try:
        CHECKPOINT.enqueue(checkpoint.pk)
    except RedisError as error:
        checkpoint.delete()
        raise CheckpointTrouble(
            "Redis does not answer, so no worker can take it; try again once Redis is back."
        ) from error


def ask_for_due() -> None:
    """Ask for a checkpoint of every run at work that has had none for CHECKPOINT_MINUTES."""
    if settings.CHECKPOINT_DIR is None:
        return
    late = timezone.now() - timedelta(minutes=settings.CHECKPOINT_MINUTES)
    runs = Run.objects.filter(state__in=WORKING_STATES).annotate(
        latest=Coalesce(Max("checkpoints__asked_at"), F("started_at"))
    )
    for run in runs.filter(Q(latest__lt=late)).select_related("crawl"):
        ask_checkpoint(run)


def take_asked(checkpoint_id: int) -> str:
    """What RQ runs.

    Harmless when run twice: checkpoints that were taken or failed stay as they are.
    """
    connections.close_all()  # a connection from before the fork belongs to the parent
    with CHECKPOINT.alone(checkpoint_id) as is_alone:
        asked = Checkpoint.objects.select_related("run__crawl").filter(taken_at=None, trouble="")
        checkpoint = asked.filter(pk=checkpoint_id).first()
        if checkpoint is None or not is_alone or settings.CHECKPOINT_DIR is None:
            return "it is no longer needed"
        return _take(checkpoint, folder_of(checkpoint))


def folder_of(checkpoint: Checkpoint) -> Path:
    """Where it is to be. Raises CheckpointTrouble without CHECKPOINT_DIR."""
    if settings.CHECKPOINT_DIR is None:
        raise CheckpointTrouble("There is no place for checkpoints: set CHECKPOINT_DIR.")
    run = checkpoint.run
    name = f"crawl{run.crawl_id}-run{run.number}-{checkpoint.asked_at:%Y%m%dT%H%M%SZ}"
    return settings.CHECKPOINT_DIR / f"{name}-{checkpoint.pk}"


def clear_checkpoint(checkpoint_id: int) -> None:
    """Remove what a job that was killed has left of one that was cancelled."""
    asked = Checkpoint.objects.select_related("run").filter(pk=checkpoint_id, taken_at=None)
    checkpoint = asked.first()
    if checkpoint is None or settings.CHECKPOINT_DIR is None:
        return
    forget_unfinished(folder := folder_of(checkpoint))
    shutil.rmtree(folder, ignore_errors=True)


def _take(checkpoint: Checkpoint, folder: Path) -> str:
    run = checkpoint.run
    wanted = Checkpoint.objects.filter(pk=checkpoint.pk, trouble="")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        taken = take_checkpoint(run, folder, with_archive=False)
    except (CheckpointTrouble, OSError) as error:
        logger.warning(
            "a checkpoint could not be taken", extra={"run": str(run), "error": str(error)}
        )
        wanted.update(trouble=str(error))
        return str(error)
    is_wanted = wanted.update(
        taken_at=taken.at,
        machine=this_machine(),
        directory=str(taken.folder),
        bytes=taken.bytes,
        urls=taken.urls,
    )
    if not is_wanted:  # a user has cancelled it
        shutil.rmtree(taken.folder, ignore_errors=True)
        return "it is no longer needed"
    _forget_old(run)
    return f"{taken.folder}: {taken.urls:,} URLs"


def _forget_old(run: Run) -> None:
    """Remove all but the last few of a run that are on this machine."""
    here = run.checkpoints.filter(machine=this_machine(), taken_at__isnull=False)
    for old in here[settings.CHECKPOINTS_KEPT :]:
        shutil.rmtree(Path(old.directory), ignore_errors=True)
        old.delete()
