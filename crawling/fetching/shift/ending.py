"""The end of a shift: fetches under way finish and are recorded, and everything else is given
back.
"""

from __future__ import annotations

from crawling.fetching.shift.archive_stage import paused_by, paused_by_bucket
from crawling.fetching.shift.ending_policy import (
    ABORTED,
    COUNTED_ENDINGS,
    FAILED,
    MEMORY_SPENT,
    NO_ARCHIVE,
    SLICE_ENDINGS,
    join_seconds,
)
from crawling.fetching.shift.parts import ShiftParts
from crawling.frontier import ClaimedUrl, UrlOutcome
from crawling.machine.memory_limit import await_free_memory
from crawling.models import UrlState
from crawling.runs.shift_lifecycle import end_shift
from crawling.runs.steering import pause_for_trouble
from crawling.web.politeness import MAX_ATTEMPTS
from crawling.web.statuses import FetchStatus

#: the time that fetches get after they were cut off
CUT_SECONDS = 1.0
#: the memory for what is written at the end of a shift that had no memory left
LAST_BYTES = 32 * 1024 * 1024


def wind_down(parts: ShiftParts, ending: str) -> str:
    """End the shift, but keep the pool's units. Return why it ended. ending: empty if it failed."""
    if ending == MEMORY_SPENT:
        await_free_memory()
        parts.memory.set_limit(beside=LAST_BYTES)
    parts.context.pace.ending.set()
    parts.context.client.memory_budget.end()
    if parts.browsers:
        parts.browsers.stop_waiting()
    parts.bench.close()
    parts.archive.end()
    if ending == ABORTED:
        parts.reading.end()  # threads that wait for it end at once
        if parts.browsers:
            parts.browsers.browser.end()
        all_ended = _cut_off(parts)
    else:
        all_ended = _finish_writing(parts, ending)
        trouble = archive_trouble(parts)
        ending = ending or trouble
    parts.archive.close()
    parts.recorder.write_links()
    parts.hosts.close(still_fetching=not all_ended)
    if all_ended:  # otherwise the threads end with this process
        parts.context.client.connections.close()
    parts.reading.end()
    if parts.browsers:
        parts.browsers.browser.end()
    parts.port.close()
    parts.memory.end()
    parts.shift.deciding_seconds = parts.grants.deciding_seconds
    end_shift(parts.shift, ending or FAILED)
    return ending


def archive_trouble(parts: ShiftParts) -> str:
    """The reason why no more answers can be archived, so that the run rests; empty if they can."""
    if parts.archive.trouble:
        pause_for_trouble(parts.shift.process.run_id, paused_by(parts.archive.trouble))
        return NO_ARCHIVE
    if parts.archive.upload_trouble:
        trouble = paused_by_bucket(parts.archive.upload_trouble)
        pause_for_trouble(parts.shift.process.run_id, trouble)
        return NO_ARCHIVE
    return MEMORY_SPENT if parts.archive.lacks_memory else ""


def _cut_off(parts: ShiftParts) -> bool:
    """End the fetches and write nothing more. Return whether the fetch threads have ended; those
    that have not end with this process.

    The bytes of the archive's file beyond its committed length go when the run's files are closed.
    """
    parts.context.client.connections.end_transfers()
    return parts.threads.join(CUT_SECONDS)


def _finish_writing(parts: ShiftParts, ending: str) -> bool:
    """Record what the fetch threads finish in time. Return whether all threads have ended."""
    all_ended = parts.threads.join(join_seconds(ending))
    late = parts.threads.asked_for() if ending in COUNTED_ENDINGS else []
    parts.recorder.write_the_rest([_outcome_of_cut_fetch(claimed, ending) for claimed in late])
    return all_ended


def _outcome_of_cut_fetch(claimed: ClaimedUrl, ending: str) -> UrlOutcome:
    """The outcome of a URL whose answer takes longer than the shift lasts.

    The fetch counts as a try. It fails if the shift waited for its end in vain.
    """
    may_never_end = ending in SLICE_ENDINGS and claimed.attempts > MAX_ATTEMPTS
    state, retry = (UrlState.FAILED, None) if may_never_end else (UrlState.QUEUED, 0.0)
    error = f"The end of a work session cut it off, at try {claimed.attempts}."
    return UrlOutcome(claimed.id, state, FetchStatus.TIMED_OUT, error, retry_seconds=retry)
