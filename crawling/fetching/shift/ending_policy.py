"""The reasons for which a shift ends, and the time that its end may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LEASE_LOST = "its lease was lost"
ABORTED = "an operator aborted the run"
LONGEST = "it has lasted as long as a work session may"
MEMORY_SPENT = "no memory was left for it beside a document"
NO_ARCHIVE = "the archive cannot be written"
SLICE_OVER = "its time slice is over and others wait"
YIELDED = "others wait, and it uses idle capacity only"
SURPLUS = "the order has fewer processes"
NOTHING_DUE = "the queue is empty for now"
#: for a shift, a run that is pausing is paused: the shift fetches no more
RESTS = {"pausing": "paused", "stopping": "stopped"}
FAILED = "it failed"

SLICE_ENDINGS = (LONGEST, SLICE_OVER)
#: A fetch that these endings cut off counts as a try, since every shift might cut it off. So does a
#: fetch that a fault of the shift cut off. A fetch that another ending cut off costs no try, since
#: that ending has nothing to do with the fetch.
COUNTED_ENDINGS = ("", *SLICE_ENDINGS, MEMORY_SPENT)
#: the time that fetches under way get when a shift ends; SIGTERM allows 5 s in all
JOIN_SECONDS = 4.0
#: the time within which a crawl that uses idle capacity only gives way: others have its units
#: within 5 s
YIELD_SECONDS = 2.5


@dataclass(frozen=True, slots=True)
class ShiftFacts:
    """The state of a shift at one look.

    The callables query the database and may end the run, so each is called only if nothing before
    it ends the shift.
    """

    age_seconds: float
    slice_seconds: float
    longest_seconds: float
    #: the run's state, if shifts fetch nothing in that state; otherwise empty
    resting_state: str
    is_aborted: bool
    is_lease_lost: bool
    #: whether the order has too few processes for the process of this shift
    is_surplus: bool
    #: whether the process is beyond the ordered number, and works while a worker is idle
    is_extra: bool
    #: whether the crawl uses idle capacity only
    is_idle_only: bool
    #: the reason why limits and thresholds end the run; empty while it goes on
    end_of_run: Callable[[], str]
    others_wait: Callable[[], bool]
    #: another process on idle capacity has something due
    is_idlers_turn: Callable[[], bool]


def reason_to_end(facts: ShiftFacts) -> str:
    """The reason why the shift has to end; empty if it need not."""
    if reason := _end_of_fetching(facts):
        return reason
    # an extra process gives way at once
    time_slice = 0.0 if facts.is_extra else facts.slice_seconds
    is_over, is_long = facts.age_seconds > time_slice, facts.age_seconds > facts.slice_seconds
    is_idle_only = facts.is_idle_only
    reasons: tuple[tuple[str, Callable[[], bool]], ...] = (
        (LONGEST, lambda: facts.age_seconds > facts.longest_seconds),
        (SURPLUS, lambda: facts.is_surplus),
        (YIELDED, lambda: is_idle_only and facts.others_wait()),
        (SLICE_OVER, lambda: is_over and facts.others_wait()),
        (SLICE_OVER, lambda: is_idle_only and is_long and facts.is_idlers_turn()),
    )
    return next((reason for reason, is_so in reasons if is_so()), "")


def _end_of_fetching(facts: ShiftFacts) -> str:
    """The reason why the run's fetching is over, for this shift or for all; empty if it is not."""
    if facts.is_lease_lost:
        return LEASE_LOST
    if facts.is_aborted:
        return ABORTED
    if facts.resting_state:
        return f"the run is {RESTS.get(facts.resting_state, facts.resting_state)}"
    return facts.end_of_run()


def reason_to_hurry(facts: ShiftFacts) -> str:
    """The reason why fetches under way are not awaited at the end; empty if they are."""
    if facts.is_lease_lost:
        return LEASE_LOST
    if facts.is_aborted:
        return ABORTED
    return YIELDED if facts.is_idle_only and facts.others_wait() else ""


def join_seconds(ending: str) -> float:
    """The time for which fetches under way are awaited."""
    return YIELD_SECONDS if ending == YIELDED else JOIN_SECONDS
