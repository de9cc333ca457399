"""One shift: lease hosts, claim URLs, let fetch threads fetch them, and record the outcomes, until
it is time to end.

The shift's own thread does all the writing. Fetch threads fetch and parse, one thread resolves
names, and one renews the leases.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from crawling.base.errors import is_out_of_memory
from crawling.fetching.shift.changes import fit_threads, follow_order
from crawling.fetching.shift.ending import archive_trouble, wind_down
from crawling.fetching.shift.ending_policy import (
    LEASE_LOST,
    MEMORY_SPENT,
    NOTHING_DUE,
    SLICE_ENDINGS,
    ShiftFacts,
    reason_to_end,
    reason_to_hurry,
)
from crawling.fetching.shift.grants import ShiftGrants
from crawling.fetching.shift.host_leases import SOON_SECONDS
from crawling.fetching.shift.lease import LeaseThread
from crawling.fetching.shift.parts import assemble_parts
from crawling.frontier import limit_reached, seconds_until_due
from crawling.frontier.admit.package_ranks import rank_seeds
from crawling.models import Run, Shift
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.runs.idle_capacity import is_start_allowed_now
from crawling.runs.shift_lifecycle import LONGEST_SLICES
from crawling.runs.steering import enforce_thresholds, pause_for_trouble
from crawling.web.politeness import MAX_ATTEMPTS

WAIT_SECONDS = 0.02
#: the time between two slower checks
LOOK_SECONDS = 1.0
#: the time to finish for fetches that were cut off before, or whose run an operator pauses or stops
LET_END_SECONDS = 60.0
#: states in which an operator, or a threshold, has ended the fetching
RESTING_STATES = (RunState.PAUSING, RunState.STOPPING)


class ShiftClock:
    """The times of a shift's beginning and of its latest slower checks, in monotonic seconds."""

    def __init__(self) -> None:
        self.began_at = self._looked_at = time.monotonic()

    def is_time_to_look(self) -> bool:
        return time.monotonic() - self._looked_at > LOOK_SECONDS

    def note_look(self) -> None:
        self._looked_at = time.monotonic()

    def age(self) -> float:
        """Seconds from the beginning to the latest look."""
        return self._looked_at - self.began_at


class ShiftWork:
    """The working life of one shift. `stop` may be called from a signal handler."""

    def __init__(self, shift: Shift, lease: LeaseThread, grants: ShiftGrants) -> None:
        self._shift, self._ending = shift, ""
        self._clock = ShiftClock()
        self._parts = assemble_parts(shift, lease, grants, self.stop)

    def stop(self, why: str) -> None:
        """End soon, and keep everything fetched so far."""
        self._ending = self._ending or why

    def work(self) -> str:
        """Fetch until there is a reason to end. Return the reason.

        Then everything is written and released, except the pool's units.
        """
        fit_threads(self._parts, self._shift.process.run)
        try:
            if not self._ending:
                rank_seeds(self._shift.process.run)
            self._lease_hosts()
            while not self._ending:
                self._do_turn()
        except (MemoryError, DatabaseError) as error:
            if not is_out_of_memory(error):
                raise
            # A document that is being read uses the memory at this moment, so no URL is lost.
            self.stop(MEMORY_SPENT)
        finally:
            self._ending = wind_down(self._parts, self._ending)
        return self._ending

    def _do_turn(self) -> None:
        self._parts.hosts.notice_drained()
        self._await_outcomes()
        if self._write_if_due():
            self._parts.hosts.refill()
        self._tend_stages()
        self._parts.reading.tend()
        self._lease_hosts()
        if self._clock.is_time_to_look() or self._has_nothing():
            self._check_slowly()

    def _lease_hosts(self) -> None:
        self._parts.hosts.lease_more(self._parts.grants.held["fetch_slots"])

    def _tend_stages(self) -> None:
        parts = self._parts
        parts.memory.tend()
        parts.memory.set_limit()
        if parts.browsers:
            others_want = parts.memory.budget.shortage() > 0 or parts.archive.wants_stage
            parts.browsers.tend(others_want=others_want)
            parts.browsers.browser.tend(parts.browsers.budget.each)

    def _await_outcomes(self) -> None:
        """Wait a little, or until the fetch threads have nothing to do. Then take the outcomes that
        have come in.
        """
        hosts, outcomes = self._parts.hosts, self._parts.threads.outcomes
        self._parts.bench.await_idleness(
            WAIT_SECONDS, is_enough=lambda: hosts.wants_refill or not outcomes.empty()
        )
        self._parts.recorder.take_outcomes()

    def _write_if_due(self) -> bool:
        """Write outcomes once there are enough, or no thread is at work. Return whether all
        outcomes are now in the frontier.
        """
        if not self._parts.archive.is_ready():
            time.sleep(WAIT_SECONDS)  # only this thread waits for the archive; fetches go on
            return False
        recorder, in_hand = self._parts.recorder, self._parts.hosts.urls_in_hand()
        if recorder.is_due(urls_in_hand=in_hand) or self._parts.bench.is_idle():
            recorder.write()
            self.stop(archive_trouble(self._parts))
            return True
        return recorder.has_nothing

    def _has_nothing(self) -> bool:
        return self._parts.hosts.count() == 0 and self._parts.recorder.has_nothing

    def _check_slowly(self) -> None:
        """Make the slower checks: edits of the order, the end of the time slice, and requests for
        more fetch threads.
        """
        self._clock.note_look()
        run = self._run()
        if ending := self._login_trouble() or reason_to_end(self._shift_facts(run)):
            if run.state in RESTING_STATES and not run.aborted_at:
                until = time.monotonic() + LET_END_SECONDS
                self._let_end(self._parts.threads.at_work, until)
            elif ending in SLICE_ENDINGS:
                longest = LONGEST_SLICES * settings.CRAWL_SLICE_SECONDS + LET_END_SECONDS
                self._let_end(self._has_last_tries, self._clock.began_at + longest)
            self.stop(ending)
        elif self._has_nothing() and self._nothing_is_due():
            self.stop(NOTHING_DUE)
        else:
            self.stop(follow_order(self._parts, run, has_work=not self._has_nothing()))

    def _run(self) -> Run:
        """The run and its crawl as they are stored now."""
        return Run.objects.select_related("crawl").get(pk=self._shift.process.run_id)

    def _login_trouble(self) -> str:
        """The reason why the shift ends if the site refused the crawl's login. The run is then
        paused.
        """
        trouble = self._parts.port.login_trouble
        if not trouble:
            return ""
        pause_for_trouble(
            self._shift.process.run_id,
            f"Paused because the site does not let us in. {trouble}. "
            "Resume the crawl to try again.",
        )
        return "it could not log in"

    def _shift_facts(self, run: Run) -> ShiftFacts:
        process, whole_slice = self._shift.process, settings.CRAWL_SLICE_SECONDS
        return ShiftFacts(
            age_seconds=self._clock.age(),
            slice_seconds=whole_slice,
            longest_seconds=LONGEST_SLICES * whole_slice,
            resting_state="" if run.state in WORKING_STATES else run.state,
            is_aborted=run.aborted_at is not None,
            is_lease_lost=self._parts.port.lease_is_lost(),
            is_surplus=process.is_surplus(run.crawl),
            is_extra=process.is_extra,
            is_idle_only=run.crawl.idle_only,
            end_of_run=lambda: _end_of_run(run),
            others_wait=self._parts.grants.others_wait,
            is_idlers_turn=lambda: is_start_allowed_now(process),
        )

    def _has_last_tries(self) -> bool:
        """Whether a URL is in hand that ends of shifts have cut off before and would cut off again
        and again.
        """
        return any(claimed.attempts >= MAX_ATTEMPTS for claimed in self._parts.threads.in_hand())

    def _let_end(self, is_awaited: Callable[[], object], until: float) -> None:
        """Hand out nothing more. Wait while `is_awaited`, unless there is a reason to end at
        once.
        """
        self._parts.bench.close()
        while is_awaited() and time.monotonic() < until and not self._ending:
            self._await_outcomes()
            self._write_if_due()
            self._tend_stages()
            self._parts.reading.tend()
            if self._clock.is_time_to_look():
                self._clock.note_look()
                self._parts.recorder.progress.show()
                # by this process's own clock, as PostgreSQL may be away
                is_lost = self._parts.port.lease_is_lost()
                self.stop(
                    LEASE_LOST if is_lost else reason_to_hurry(self._shift_facts(self._run()))
                )

    def _nothing_is_due(self) -> bool:
        """Whether none of the shift's hosts falls due soon."""
        due_in = seconds_until_due(self._shift.process)
        return due_in is None or due_in > SOON_SECONDS


def _end_of_run(run: Run) -> str:
    if limit_reached(run):
        return "a limit is reached"
    return "a threshold is reached" if enforce_thresholds(run, timezone.now()) else ""
