"""One shift: lease hosts, claim URLs, let fetch threads fetch them, write down what became of them;
until it is time to end.

The shift's own thread does all the writing. Fetch threads fetch and parse, a thread resolves names,
a thread renews the leases.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from crawling.crawls.fetching_section import fetching_of
from crawling.errors import lacked_memory
from crawling.frontier.admit.crawl_rules import unbound_hosts
from crawling.frontier.admit.quarantine import states_of
from crawling.frontier.due_queues import seconds_until_due
from crawling.frontier.leases import ClaimedUrl
from crawling.frontier.run_limits import limit_reached
from crawling.frontier.types import UrlOutcome
from crawling.installation import identity
from crawling.models import CrawlJob, Run, Shift, UrlState
from crawling.models.jobs import WORKING_STATES, RunState
from crawling.orders.sections.fetching import FetchingPart
from crawling.process.memory_limit import await_free_memory
from crawling.runs.extensions import missing_parts
from crawling.runs.idle_capacity import is_idlers_turn
from crawling.runs.shift_lifecycle import LONGEST_SLICES, end_shift
from crawling.runs.steering import enforce_thresholds, pause_by_itself
from crawling.sealed_text import SealBroken
from crawling.shift.archive_stage import ArchiveStage, paused_by
from crawling.shift.context_factory import bytes_a_second, make_context
from crawling.shift.fetch_threads import FetchThreadPool
from crawling.shift.grants import ResourceUse, ShiftGrants
from crawling.shift.host_leases import SOON_SECONDS, HostLeases
from crawling.shift.lease import LeaseThread
from crawling.shift.memory_stage import MemoryStage
from crawling.shift.port import QueuedShiftPort
from crawling.shift.recorder import OutcomeRecorder
from crawling.shift.workbench import Workbench
from crawling.web.politeness import MAX_ATTEMPTS
from crawling.web.statuses import FetchStatus

WAIT_SECONDS = 0.02
#: how often the slower questions are asked
LOOK_SECONDS = 1.0
#: fetches under way get this long when a shift ends; SIGTERM allows 5 s in all
JOIN_SECONDS = 4.0
#: those of a crawl that uses idle capacity only: others have its units within 5 s
YIELD_SECONDS = 2.5
#: those of a run that an operator pauses or stops get this long, and those that were cut off
LET_END_SECONDS = 60.0
CUT_SECONDS = 1.0
#: in these an operator, or a threshold, has ended the fetching
RESTING_STATES = (RunState.PAUSING, RunState.STOPPING)
#: for what is written at the end of a shift that had no memory left
LAST_BYTES = 32 * 1024 * 1024
LEASE_LOST = "its lease was lost"
ABORTED = "an operator aborted the run"
LONGEST = "it has lasted as long as a shift may"
MEMORY_SPENT = "no memory was left for it beside a document"
SLICE_OVER = "its time slice is over and others wait"
YIELDED = "others wait, and it uses idle capacity only"
SURPLUS = "the order has fewer processes"
SLICE_ENDINGS = (LONGEST, SLICE_OVER)
#: what these cut off was a try, for it might be cut off in every shift; so is what a fault of the
#: shift cuts off. All other endings are the doing of people or of other crawls
COUNTED_ENDINGS = ("", *SLICE_ENDINGS, MEMORY_SPENT)


class ShiftClock:
    """When a shift began, and when it last asked the slower questions; monotonic seconds."""

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

    def __init__(self, shift: Shift, lease: LeaseThread, buyer: ShiftGrants) -> None:
        self._shift, self._buyer = shift, buyer
        self._ending = ""
        self._clock = ShiftClock()
        self._memory = MemoryStage(buyer)
        self._archive = ArchiveStage(shift, buyer, user_agent=identity().user_agent)
        self._port = QueuedShiftPort(shift.process.run_id, lease, self._archive)
        self._look_for_parts(shift.process.run)
        self._context = make_context(shift, buyer, self._memory.room, self._fetching(), self._port)
        self._bench = Workbench()
        self._threads = FetchThreadPool(self._bench, self._context)
        self._hosts = HostLeases(shift, self._context, self._bench, dns_slots=self._dns_slots)
        use = ResourceUse(
            self._threads.board,
            self._context.client.bandwidth,
            self._memory.room,
            look_ups=lambda: self._port.names_at_work + self._hosts.names_under_way(),
            has_archive=lambda: self._archive.has_file,
        )
        self._recorder = OutcomeRecorder(
            shift, self._context, self._archive, self._port, self._threads, use
        )

    def _look_for_parts(self, run: Run) -> None:
        """A run fetches nothing where this worker lacks the package that it needs."""
        if missing := missing_parts(run.crawl.visit_order, run.crawl.seeds):
            pause_by_itself(run.pk, f"Paused on {socket.gethostname()}. {missing}")
            self.stop("a package that it needs is not available")

    def _fetching(self) -> FetchingPart:
        """How the order says to ask. A run whose secrets can't be read any more fetches nothing."""
        try:
            return fetching_of(self._shift.process.run.crawl)
        except SealBroken as trouble:
            pause_by_itself(
                self._shift.process.run_id,
                f"Paused because the crawl's secrets cannot be read. {trouble}",
            )
            self.stop("its secrets cannot be read")
            return FetchingPart()

    def _dns_slots(self) -> int:
        """How many names of hosts may be looked up at a time."""
        return self._buyer.held["dns_slots"] - self._port.names_at_work

    def stop(self, why: str) -> None:
        """End soon, keeping everything that was fetched."""
        self._ending = self._ending or why

    def work(self) -> str:
        """Fetch until there is a reason to end, and return it.

        All is written and let go then, but for the pool's units.
        """
        self._fit_threads(self._shift.process.run)
        try:
            self._hosts.lease_more(self._buyer.held["fetch_slots"])
            while not self._ending:
                self._turn()
        except (MemoryError, DatabaseError) as error:
            if not lacked_memory(error):
                raise
            # A document that is being read takes it at this moment: that is no URL's loss.
            self.stop(MEMORY_SPENT)
        finally:
            self._wind_down()
        return self._ending

    def _turn(self) -> None:
        self._hosts.notice_drained()
        self._collect()
        if self._write_if_due():
            self._hosts.refill()
        self._memory.tend()
        self._memory.set_limit()
        self._hosts.lease_more(self._buyer.held["fetch_slots"])
        if self._clock.is_time_to_look() or self._has_nothing():
            self._look()

    def _collect(self) -> None:
        """Wait a little, or until the fetch threads have nothing to do, and take the outcomes that
        are there.
        """
        self._bench.await_idleness(
            WAIT_SECONDS,
            is_enough=lambda: self._hosts.wants_refill or not self._threads.outcomes.empty(),
        )
        self._recorder.take_up()

    def _write_if_due(self) -> bool:
        """Write outcomes once there are enough, or no thread is at work; whether the frontier now
        has all that were there.
        """
        if not self._archive.is_ready():
            time.sleep(WAIT_SECONDS)  # only this thread waits for the archive; fetches go on
            return False
        if self._recorder.is_due(urls_in_hand=self._hosts.urls_in_hand()) or self._bench.is_idle():
            self._recorder.write()
            self._mind_the_archive()
            return True
        return self._recorder.has_nothing

    def _mind_the_archive(self) -> None:
        """A run whose archive cannot be written fetches nothing more."""
        if self._archive.trouble:
            pause_by_itself(self._shift.process.run_id, paused_by(self._archive.trouble))
            self.stop("the archive cannot be written")
        if self._archive.lacks_memory:
            self.stop(MEMORY_SPENT)

    def _has_nothing(self) -> bool:
        return self._hosts.count() == 0 and self._recorder.has_nothing

    def _look(self) -> None:
        """Make the slower checks: changed orders, the end of the slice, and the use of more fetch
        threads.
        """
        self._clock.note_look()
        run = Run.objects.select_related("crawl").get(pk=self._shift.process.run_id)
        if ending := self._reason_to_end(run):
            if run.state in RESTING_STATES and not run.aborted_at:
                self._let_end(self._threads.at_work, time.monotonic() + LET_END_SECONDS)
            elif ending in SLICE_ENDINGS:
                longest = LONGEST_SLICES * settings.CRAWL_SLICE_SECONDS + LET_END_SECONDS
                self._let_end(self._has_last_tries, self._clock.began_at + longest)
            self.stop(ending)
        elif not (self._has_nothing() and self._nothing_is_due()):
            self._follow(run)

    def _follow(self, run: Run) -> None:
        """Go on as the run is ordered now, with what the pool has granted since."""
        self._context.links.traps.states = states_of(run.pk)
        if self._recorder.look():
            self._hosts.hand_over()
            self._archive.is_alone = self._archive.is_alone and len(self._recorder.numbers) == 1
        self._hosts.tell()
        self._hosts.obey(run)
        self._recorder.progress.show()
        self._obey(run.crawl)
        if not self._has_nothing():
            self._buyer.look()
            names = self._hosts.names_waiting()
            self._buyer.grow(
                {"fetch_slots": self._bench.overdue() + names, "dns_slots": names},
                self._memory.units_for,
                is_idle_only=run.crawl.idle_only,
            )
        self._buyer.reread()
        self._fit_threads(run)
        self._context.client.bandwidth.set_rate(
            bytes_a_second(self._context.pace.politeness, self._buyer, len(self._recorder.numbers))
        )

    def _has_last_tries(self) -> bool:
        """Whether a URL is in hand that the ends of shifts have cut off before: it would be so
        again and again.
        """
        return any(claimed.attempts >= MAX_ATTEMPTS for claimed in self._threads.in_hand())

    def _let_end(self, is_awaited: Callable[[], object], until: float) -> None:
        """Hand out nothing more, and wait while there is something to wait for, unless there is a
        reason to end at once.
        """
        self._bench.close()
        while is_awaited() and time.monotonic() < until and not self._ending:
            self._collect()
            self._write_if_due()
            self._memory.tend()
            self._memory.set_limit()
            if self._clock.is_time_to_look():
                self._clock.note_look()
                self._recorder.progress.show()
                self.stop(self._reason_to_hurry())

    def _reason_to_hurry(self) -> str:
        """Why fetches under way are not to be waited for any longer; empty if they are."""
        if self._port.lease_is_lost():
            return LEASE_LOST
        run = Run.objects.select_related("crawl").get(pk=self._shift.process.run_id)
        if run.aborted_at:
            return ABORTED
        return YIELDED if run.crawl.idle_only and self._buyer.others_wait() else ""

    def _obey(self, crawl: CrawlJob) -> None:
        """Follow what was edited, or end so that the next shift does."""
        self._context.copies.is_on = crawl.filters.get("skip_copies", False)
        self._context.links.ascends = crawl.ordering.get("path_ascending", False)
        if crawl.ordering.get("topic") != self._shift.process.run.crawl.ordering.get("topic"):
            self.stop("its topic was edited")
        unbound = unbound_hosts(crawl, timezone.now())
        if unbound - self._context.robots.unbound:
            self.stop("hosts were excepted from robots.txt, and the archive must say so first")
        self._context.robots.unbound &= unbound
        if crawl.fetching != self._shift.process.run.crawl.fetching:
            self.stop("how it asks was edited")

    def _reason_to_end(self, run: Run) -> str:
        """Why the shift must end now; empty if it need not."""
        if self._port.login_trouble:
            pause_by_itself(
                run.pk,
                f"Paused because the site does not let us in. {self._port.login_trouble}. "
                "Resume the crawl to try again.",
            )
            return "it could not log in"
        age, process, is_idle_only = self._clock.age(), self._shift.process, run.crawl.idle_only
        whole_slice = settings.CRAWL_SLICE_SECONDS
        time_slice = 0.0 if process.is_extra else whole_slice  # what is extra gives way at once
        reasons: tuple[tuple[str, Callable[[], object]], ...] = (
            (LEASE_LOST, lambda: self._port.lease_is_lost()),
            (ABORTED, lambda: run.aborted_at),
            (f"the run is {run.state}", lambda: run.state not in WORKING_STATES),
            ("a limit is reached", lambda: limit_reached(run)),
            ("a threshold is reached", lambda: enforce_thresholds(run, timezone.now())),
            (LONGEST, lambda: age > LONGEST_SLICES * whole_slice),
            (SURPLUS, lambda: process.is_surplus(run.crawl)),
            (YIELDED, lambda: is_idle_only and self._buyer.others_wait()),
            (SLICE_OVER, lambda: age > time_slice and self._buyer.others_wait()),
            (SLICE_OVER, lambda: is_idle_only and age > whole_slice and is_idlers_turn(process)),
        )
        return next((reason for reason, is_so in reasons if is_so()), "")

    def _fit_threads(self, run: Run) -> None:
        """As many fetch threads as are granted and ordered (B11's `setSize`)."""
        ordered = 1 if run.crawl.has_exact_order else run.crawl.claim["fetch_slots"]
        slots = min(self._buyer.held["fetch_slots"], ordered)
        self._threads.set_size(min(slots, self._memory.most_threads()))
        self._memory.set_limit()
        self._buyer.obey(run.crawl.claim, self._threads.at_work())

    def _nothing_is_due(self) -> bool:
        """Whether the shift has to end because none of its hosts falls due soon."""
        due_in = seconds_until_due(self._shift.process)
        if due_in is not None and due_in <= SOON_SECONDS:
            return False
        self.stop("nothing is due")
        return True

    def _wind_down(self) -> None:
        """Let fetches under way come to an end, write them down, and give back everything else."""
        if self._ending == MEMORY_SPENT:
            await_free_memory()
            self._memory.set_limit(beside=LAST_BYTES)
        self._context.pace.ending.set()
        self._context.client.room.end()
        self._bench.close()
        self._archive.end()
        all_ended = self._cut_off() if self._ending == ABORTED else self._finish_writing()
        self._archive.close()
        self._recorder.write_links()
        self._hosts.close(still_fetching=not all_ended)
        if all_ended:  # else they go with this process
            self._context.client.connections.close()
        self._port.close()
        self._memory.end()
        self._shift.deciding_seconds = self._buyer.deciding_seconds
        end_shift(self._shift, self._ending or "it failed")

    def _finish_writing(self) -> bool:
        """Write down what the fetch threads finish in time; whether that is all."""
        seconds = YIELD_SECONDS if self._ending == YIELDED else JOIN_SECONDS
        all_ended = self._threads.join(seconds)
        late = self._threads.asked_for() if self._ending in COUNTED_ENDINGS else []
        self._recorder.write_the_rest([self._cut(claimed) for claimed in late])
        self._mind_the_archive()
        return all_ended

    def _cut(self, claimed: ClaimedUrl) -> UrlOutcome:
        """What becomes of a URL whose answer takes longer than the shift.

        That is a try; it fails if it was let end and did not.
        """
        may_never_end = self._ending in SLICE_ENDINGS and claimed.attempts > MAX_ATTEMPTS
        state, retry = (UrlState.FAILED, None) if may_never_end else (UrlState.QUEUED, 0.0)
        error = f"The end of a shift cut it off, at try {claimed.attempts}."
        return UrlOutcome(claimed.id, state, FetchStatus.TIMED_OUT, error, retry_seconds=retry)

    def _cut_off(self) -> bool:
        """End the fetches and write nothing more; whether the fetch threads have ended, as
        otherwise they will with this process.

        What the archive's file has beyond its committed length goes when the run's files are
        closed.
        """
        self._context.client.connections.cut_off()
        return self._threads.join(CUT_SECONDS)
