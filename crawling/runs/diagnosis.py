"""The reason why a run is not fetching: a verdict from the facts about it at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from crawling.web.statuses import OUTAGES, THROTTLES, may_pass, status_sentence

#: the seconds after which a shift is stuck if it has written nothing although a host is free
QUIET_SECONDS = 300.0
#: the seconds after which a step is overdue that normally takes a second or two
OVERDUE_SECONDS = 60.0
#: a shorter rest of a host does not count
NO_REST_SECONDS = 1.0


STARTING_SOON = "Starting …"


class StallCause(StrEnum):
    """The cause that keeps a run from fetching. `FETCHING` and `STARTING` mean that there is no
    cause.
    """

    FETCHING = "fetching"
    STARTING = "starting"
    RESTING = "crawl delay"
    RETRYING = "retrying after a failure"
    THROTTLED = "throttled by the site"
    EMPTY = "empty queue"
    GRANT = "waiting for a grant"
    HOST_TAKEN = "waiting for a host"
    HOST_DOWN = "host unavailable"
    NAME = "waiting for a name"
    NO_WORKER = "no worker"
    NO_SCHEDULER = "no scheduler"
    WORKER_LOST = "worker lost"
    PAUSED = "paused"
    PAUSING = "pausing"
    STOPPING = "stopping"
    STUCK = "stuck"


@dataclass(frozen=True)
class NextHost:
    """The host that is free first, and the seconds until then. They are negative if it is free
    already.
    """

    name: str
    seconds: float
    #: another crawl that is fetching from the host
    taken_by: str | None = None
    #: the status of the last try at the URL that waits there; None if it was not tried yet
    status: int | None = None
    #: whether the host waits until its name is resolved
    is_held: bool = False
    #: the answer that makes the host rest for all crawls, as a sentence
    rest_reason: str = ""
    #: the outage of the host, as a sentence, if it has one
    outage: str = ""


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run that has not ended."""

    state: str
    #: the cause of the run's pause, as a sentence
    paused: str = ""
    #: the reason why its request for resources waits, and the event that ends the wait
    wait: str = ""
    wait_ends: str = ""
    #: the seconds since a grant that no worker has taken up
    granted_seconds: float | None = None
    #: the seconds since a live shift last wrote
    quiet_seconds: float | None = None
    #: the seconds until a live shift's lease expires
    lease_seconds: float | None = None
    #: the work sessions that have not renewed their lease in time, and the seconds until the last
    #: of these leases ends
    late_sessions: int = 0
    late_seconds: float = 0.0
    queued: int = 0
    quarantined: int = 0
    next_host: NextHost | None = None
    #: None if Redis does not answer
    workers: int | None = None
    is_scheduler_there: bool = True


@dataclass(frozen=True)
class Stall:
    cause: StallCause
    sentence: str
    #: the operator's remedy; empty if there is none
    remedy: str = ""
    seconds: float | None = None

    @property
    def is_trouble(self) -> bool:
        return self.cause in (StallCause.STUCK, StallCause.NO_WORKER, StallCause.NO_SCHEDULER)


def diagnose(facts: RunFacts) -> Stall:
    """The diagnosis of a run: the first rule that fits decides."""
    if facts.state in ("pausing", "stopping"):
        return _stall_of_ending(facts)
    if facts.paused:
        return Stall(StallCause.PAUSED, facts.paused, "Resume it to continue.")
    if facts.quiet_seconds is not None:
        return _stall_at_work(facts, facts.quiet_seconds)
    if facts.wait:
        return Stall(StallCause.GRANT, facts.wait, facts.wait_ends)
    if facts.granted_seconds is not None:
        return _stall_of_granted(facts, facts.granted_seconds)
    if not facts.queued:
        return _stall_of_empty_queue(facts)
    return (
        _stall_at_host(facts, facts.next_host) if facts.next_host else _stall_of_start(facts, 0.0)
    )


def _stall_of_ending(facts: RunFacts) -> Stall:
    if facts.quiet_seconds is not None and facts.quiet_seconds > QUIET_SECONDS:
        return Stall(
            StallCause.STUCK,
            f"It is {facts.state}, but its work session has written nothing for "
            f"{_seconds_in_words(facts.quiet_seconds)}.",
            KILL,
        )
    cause = StallCause.PAUSING if facts.state == "pausing" else StallCause.STOPPING
    return Stall(cause, "The fetches under way are being finished first.")


KILL = (
    "End the worker's process; its fetches are tried again. Send the diagnostics to the developers."
)
START_WORKER = (
    "Start a worker: `make run` starts as many as WORKERS says; on a machine of your own, the "
    "worker line of the Procfile."
)
START_SCHEDULER = (
    "Start the scheduler: `make run` does; on a machine of your own, `manage.py scheduler`."
)


def _stall_at_work(facts: RunFacts, quiet: float) -> Stall:
    if facts.lease_seconds is not None and facts.lease_seconds < 0:
        if not facts.is_scheduler_there:
            return Stall(
                StallCause.NO_SCHEDULER,
                "Its worker is gone, and there is no scheduler to take its units back.",
                START_SCHEDULER,
            )
        return Stall(
            StallCause.WORKER_LOST,
            f"Its worker has been silent for {_seconds_in_words(-facts.lease_seconds)}; its work "
            "is about to be handed on.",
        )
    if facts.late_sessions:
        return _stall_of_late(facts)
    if quiet <= QUIET_SECONDS:
        return Stall(StallCause.FETCHING, "Fetching.")
    if facts.next_host and facts.next_host.is_held:
        return _stall_of_held_host(facts.next_host)
    if facts.next_host and facts.next_host.seconds > NO_REST_SECONDS:
        return _stall_of_resting_host(facts.next_host)
    return Stall(
        StallCause.STUCK,
        f"Its work session is alive but has written nothing for {_seconds_in_words(quiet)}.",
        KILL,
    )


def _stall_of_late(facts: RunFacts) -> Stall:
    """A worker of another machine may have been killed, or cut off: only the end of its lease tells
    that it fetches no more.
    """
    some = facts.late_sessions
    sessions = f"{some} work sessions have not renewed their leases"
    return Stall(
        StallCause.WORKER_LOST,
        f"{'A work session has not renewed its lease' if some == 1 else sessions}. If "
        f"{'its worker is' if some == 1 else 'their workers are'} lost, the hosts and resources "
        f"go to others in {_seconds_in_words(facts.late_seconds)} at the latest.",
        seconds=facts.late_seconds,
    )


def _stall_of_granted(facts: RunFacts, seconds: float) -> Stall:
    if facts.workers == 0:
        return Stall(
            StallCause.NO_WORKER,
            f"Granted {_seconds_in_words(seconds)} ago, but there is no worker to start its work "
            "session.",
            START_WORKER,
        )
    if seconds > OVERDUE_SECONDS and not facts.is_scheduler_there:
        return Stall(
            StallCause.NO_SCHEDULER,
            f"Granted {_seconds_in_words(seconds)} ago, but there is no scheduler to tell a "
            "worker of it.",
            START_SCHEDULER,
        )
    if seconds > OVERDUE_SECONDS:
        return Stall(
            StallCause.STUCK,
            f"Granted {_seconds_in_words(seconds)} ago, and no worker has started its work "
            "session.",
            "Check whether the workers are busy or hang.",
        )
    return Stall(StallCause.STARTING, STARTING_SOON)


def _stall_of_empty_queue(facts: RunFacts) -> Stall:
    if facts.quarantined:
        some = f"{facts.quarantined:,} URL{'s' if facts.quarantined != 1 else ''}"
        return Stall(
            StallCause.EMPTY,
            f"Nothing is queued; {some} in quarantine would be.",
            "Approve or ban the possible traps on the crawl's page.",
        )
    return Stall(StallCause.EMPTY, "Nothing is queued; it is about to finish.")


def _stall_at_host(facts: RunFacts, host: NextHost) -> Stall:
    if host.taken_by:
        return Stall(
            StallCause.HOST_TAKEN,
            f"The crawl {host.taken_by} is fetching from the host {host.name}; a host serves one "
            "crawl at a time, and they take turns.",
        )
    if host.is_held:
        return _stall_of_held_host(host)
    if host.seconds > NO_REST_SECONDS:
        return _stall_of_resting_host(host)
    return _stall_of_start(facts, -host.seconds)


def _stall_of_held_host(host: NextHost) -> Stall:
    again = (
        f" Next look-up in {_seconds_in_words(host.seconds)}."
        if host.seconds > NO_REST_SECONDS
        else ""
    )
    return Stall(
        StallCause.NAME,
        f"{host.name} waits for DNS: no name server has answered yet.{again}",
        "The page DNS shows whether name servers answer; its tab Why is it waiting? explains "
        "the name.",
    )


def _stall_of_resting_host(host: NextHost) -> Stall:
    if host.outage:
        remedy = (
            "Check whether the host can be reached. After they have failed, Retry fetches its URLs "
            "again."
        )
        return Stall(
            StallCause.HOST_DOWN,
            f"Waiting for {host.name}. {host.outage}",
            remedy,
            host.seconds,
        )
    if host.status in THROTTLES:
        return Stall(
            StallCause.THROTTLED,
            f"{host.name} answered {host.status}: too many requests. Next attempt in "
            f"{_seconds_in_words(host.seconds)}.",
            "A longer delay between fetches avoids this.",
            host.seconds,
        )
    if host.status is not None and (may_pass(host.status) or host.status in OUTAGES):
        return Stall(
            StallCause.RETRYING,
            f"{host.name}: {status_sentence(host.status)} Next attempt in "
            f"{_seconds_in_words(host.seconds)}.",
            seconds=host.seconds,
        )
    return Stall(
        StallCause.RESTING,
        f"{host.name} may be fetched from in {_seconds_in_words(host.seconds)}. "
        f"{host.rest_reason}".rstrip(),
        seconds=host.seconds,
    )


def _stall_of_start(facts: RunFacts, due_seconds: float) -> Stall:
    if not facts.is_scheduler_there:
        return Stall(
            StallCause.NO_SCHEDULER,
            "There is no scheduler to request resources for its next work session.",
            START_SCHEDULER,
        )
    if facts.workers == 0:
        return Stall(StallCause.NO_WORKER, "There is no worker for crawls.", START_WORKER)
    if due_seconds > OVERDUE_SECONDS:
        return Stall(
            StallCause.STUCK,
            f"Work has been due for {_seconds_in_words(due_seconds)}, and no resources were "
            "requested "
            "for a work session.",
            "Look at the scheduler's log.",
        )
    return Stall(StallCause.STARTING, STARTING_SOON)


def _seconds_in_words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
