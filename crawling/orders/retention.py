"""The retention of a crawl's runs: which runs are kept, and when the others are deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from crawling.orders.fields import NUMBER, Bytes
from crawling.orders.sentences import sentence_for


class Retention(BaseModel):
    """Retention rules. A run is deleted as soon as one of them applies. Without rules, all runs are
    kept.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep_runs: (
        Annotated[int, Field(ge=1, le=100_000, description="number of latest runs to keep"), NUMBER]
        | None
    ) = None
    keep_days: (
        Annotated[
            int,
            Field(ge=1, le=36_500, description="days after its end until a run is deleted"),
            NUMBER,
        ]
        | None
    ) = None
    max_bytes: (
        Annotated[
            Bytes,
            Field(description="bytes of archive files beyond which the oldest runs are deleted"),
        ]
        | None
    ) = None

    @property
    def is_on(self) -> bool:
        return any(value is not None for value in (self.keep_runs, self.keep_days, self.max_bytes))


@dataclass(frozen=True)
class RetainedRun:
    number: int
    #: None while the run continues
    ended_at: datetime | None
    bytes: int
    #: by the number of a later run, how many of its pages are in this run's archive
    needed_by: Mapping[int, int]
    #: a sentence that names a run of another crawl with payloads in its archive
    needed_by_others: str = ""


@dataclass(frozen=True)
class RunFate:
    number: int
    #: the time from which the rules delete the run, perhaps in the past; None if the run is kept
    goes_at: datetime | None
    sentence: str

    def is_deleted_by(self, now: datetime) -> bool:
        return self.goes_at is not None and self.goes_at <= now


def read_retention(fields: Mapping[str, Any]) -> tuple[Retention | None, dict[str, str]]:
    """The rules, or a sentence for each invalid field."""
    try:
        return Retention.model_validate(dict(fields)), {}
    except ValidationError as error:
        unknown = "is no rule for what is kept; these are: " + ", ".join(Retention.model_fields)
        return None, {
            ".".join(map(str, mistake["loc"])): unknown
            if mistake["type"] == "extra_forbidden"
            else sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            for mistake in error.errors()
        }


def fates_of_runs(rules: Retention, runs: Sequence[RetainedRun], now: datetime) -> list[RunFate]:
    """The fate of each run, the latest first.

    The latest run always stays, and so does a run whose archive has pages of a run that stays.
    """
    told, staying, total = [], set[int](), 0
    for place, run in enumerate(runs):
        total += run.bytes
        fate = _fate_of_run(rules, run, place, total, staying, now)
        told.append(fate)
        if not fate.is_deleted_by(now):
            staying.add(run.number)
    return told


def _fate_of_run(
    rules: Retention, run: RetainedRun, place: int, total: int, staying: set[int], now: datetime
) -> RunFate:
    if run.ended_at is None:
        return RunFate(run.number, None, "Kept (not ended).")
    if place == 0:
        return RunFate(run.number, None, "Kept (latest).")
    last_day = run.ended_at + timedelta(days=rules.keep_days) if rules.keep_days else None
    reason = _deletion_reason(rules, place, total, last_day, now)
    if reason and (needing := staying & set(run.needed_by)):
        pages = run.needed_by[max(needing)]
        return RunFate(
            run.number,
            None,
            f"Stays although {reason}: its archive has the payloads of {pages:,} "
            f"page{'s' if pages != 1 else ''} of run {max(needing)}.",
        )
    if reason and run.needed_by_others:
        return RunFate(run.number, None, f"Stays although {reason}. {run.needed_by_others}")
    if reason:
        return RunFate(run.number, now, f"Goes: {reason}.")
    return RunFate(run.number, last_day, "Goes later, by its age." if last_day else "Stays.")


def _deletion_reason(
    rules: Retention, place: int, total: int, last_day: datetime | None, now: datetime
) -> str:
    if rules.keep_runs and place >= rules.keep_runs:
        return (
            f"only the last {rules.keep_runs:,} runs are kept"
            if rules.keep_runs > 1
            else "only the last run is kept"
        )
    if last_day and last_day <= now:
        return (
            f"its end was more than {rules.keep_days:,} day{'' if rules.keep_days == 1 else 's'} "
            "ago"
        )
    if rules.max_bytes and total > rules.max_bytes:
        return f"it and the later ones take {total:,} bytes, and {rules.max_bytes:,} are the most"
    return ""
