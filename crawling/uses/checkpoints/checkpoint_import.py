"""Creates a crawl with a run from a checkpoint: a new crawl each time, on any server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from crawling.archive.adoption import adopt_files, adopt_rows, check_places, forget_files
from crawling.archive.checkpoint_directory import (
    ARCHIVE,
    CheckpointManifest,
    read_lines,
    read_manifest,
)
from crawling.base.audit import record_action
from crawling.base.errors import CheckpointTrouble
from crawling.datasets.parts import read_later_from_archive
from crawling.frontier import reassign_hosts, serving_process_numbers
from crawling.frontier.change.checkpoint_restore import restore_frontier, restore_shared
from crawling.installation.pools import capacity_of, default_pool
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Run, RunProcess
from crawling.models.jobs import ENDED_STATES, RunState
from crawling.orders.order import read_claim
from crawling.orders.sections.fetching import masked_names, order_with_secrets
from crawling.runs.crawls.creation import create_crawl, free_name
from crawling.runs.grants import register_processes, request_shifts

#: parts that older checkpoints lack
LATER_PARTS = ("further", "targets")


def import_checkpoint(
    folder: Path,
    *,
    name: str | None = None,
    resume: bool = False,
    by: User | None = None,
    secrets: Mapping[str, Any] | None = None,
    confirm: Callable[[Run], None] = lambda run: None,
) -> Run:
    """Create a crawl with one run. The run is paused; with `resume` it continues at once. A run
    that had ended stays ended.

    Everything is read and checked before anything is written. A claim that exceeds the pool's
    capacity is reduced to the capacity. secrets: fields of the order that are masked in the
    checkpoint. confirm: called as the last step of the transaction that creates the run; if it
    raises an error, no run is created. Raises CheckpointTrouble or BadOrder.
    """
    folder = folder.expanduser().resolve()
    manifest = read_manifest(folder)
    order = {
        **_unmasked_order(folder, manifest, secrets or {}),
        "name": name or free_name(str(manifest.order.get("name", ""))),
        "claim": _claim_within_capacity(manifest),
    }
    try:
        with transaction.atomic(durable=True):
            restore_shared(lambda part: read_lines(folder, part))
        state = RunState.QUEUED if resume else RunState.PAUSED
        run = _write_run(folder, manifest, order, by, state, confirm)
    except (DataError, IntegrityError, KeyError, ValueError) as error:
        raise CheckpointTrouble(
            f"{folder} holds what cannot be: {str(error).splitlines()[0]} Take it anew."
        ) from error
    if run.state not in ENDED_STATES:
        register_processes(run)
        request_shifts(run)
    return run


def _unmasked_order(
    folder: Path, manifest: CheckpointManifest, secrets: Mapping[str, Any]
) -> dict[str, Any]:
    order = order_with_secrets(manifest.order, secrets)
    if missing := masked_names(order):
        fields = "; ".join(f"{field}: {', '.join(keys)}" for field, keys in missing.items())
        raise CheckpointTrouble(
            f"{folder} has the crawl's order without its secrets. Give these with --secrets "
            f"FILE, as JSON: {fields}."
        )
    return order


def _claim_within_capacity(manifest: CheckpointManifest) -> dict[str, int]:
    capacity = capacity_of(default_pool())
    claim = read_claim(manifest.order.get("claim"))
    return {key: min(units, capacity[key]) for key, units in claim.items() if key in capacity}


def _write_run(
    folder: Path,
    manifest: CheckpointManifest,
    order: dict[str, Any],
    by: User | None,
    state: RunState,
    confirm: Callable[[Run], None],
) -> Run:
    has_files = False
    try:
        with transaction.atomic(durable=True):
            ended = manifest.run["state"] in ENDED_STATES
            crawl = create_crawl(order, by=by, is_restored=True, has_ended=ended)
            run = _new_run(crawl, manifest, state)
            adopt_rows(run.pk, read_lines(folder, "archive"), with_files=bool(manifest.archive))
            restore_frontier(
                run.pk,
                lambda part: read_lines(folder, part) if _has_part(manifest, part) else (),
                lambda part: manifest.parts[part]["columns"] if _has_part(manifest, part) else (),
            )
            check_places(run.pk)
            # the run on the other server may have had other processes
            reassign_hosts(run, serving_process_numbers(run.pk))
            record_action(
                by,
                run.crawl,
                "imported",
                {"run": (None, run.number), "taken at": (None, manifest.taken_at)},
            )
            write(
                run.pk,
                f"Imported by {by or 'the command line'} from a checkpoint of "
                f"{manifest.taken_at[:19]}, taken of {_origin_words(manifest)}.",
            )
            if manifest.archive:
                adopt_files(run.pk, folder / ARCHIVE, manifest.archive)
                has_files = True
                read_later_from_archive(run.pk)
            confirm(run)
    except BaseException:
        if has_files:  # the files were copied, but the run was not created
            forget_files(run.pk)
        raise
    return run


def _has_part(manifest: CheckpointManifest, part: str) -> bool:
    return part in manifest.parts or part not in LATER_PARTS


def _new_run(crawl: CrawlJob, manifest: CheckpointManifest, state: RunState) -> Run:
    """Create the run. The time that the run had used at the checkpoint counts towards its limit."""
    facts, ended = manifest.run, manifest.run["state"] in ENDED_STATES
    late = timezone.now() - datetime.fromisoformat(manifest.taken_at)
    reason = (
        "Imported; waiting for a worker."
        if state == RunState.QUEUED
        else "Imported from a checkpoint; resume it to continue."
    )
    run = Run.objects.create(
        crawl=crawl,
        number=1,
        state=facts["state"] if ended else state,
        reason=facts["reason"] if ended else reason,
        started_at=_shifted_moment(facts["started_at"], late),
        finished_at=_shifted_moment(facts["finished_at"], late) if ended else None,
    )
    RunProcess.objects.bulk_create(
        RunProcess(run=run, number=number) for number in range(crawl.process_limit or 1)
    )
    return run


def _shifted_moment(text: str | None, late: Any) -> datetime | None:
    return datetime.fromisoformat(text) + late if text else None


def _origin_words(manifest: CheckpointManifest) -> str:
    return f"{manifest.order.get('name')!r}, run {manifest.run['number']}"
