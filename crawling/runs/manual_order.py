"""Change what waits in a run's frontier by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.contrib.auth.models import User

from crawling.audit import note
from crawling.errors import WrongState
from crawling.frontier.change.manual_order import UrlAction, handle
from crawling.frontier.run_lock import locked_run
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.run_log import write
from crawling.runs.shift_lifecycle import settle_run
from crawling.runs.waiting_urls import FrontierFilter, found_ids

#: rows in one transaction: a shift that needs the lock waits no longer than that takes
BATCH = 2_000
#: more at once would keep the browser waiting; the answer says that there is more
MOST = 50_000
DONE = {
    UrlAction.FIRST: "sent ahead of all others of the host",
    UrlAction.USUAL: "left to the crawl's order again",
    UrlAction.LAST: "sent behind all others of the host",
    UrlAction.TAKE_OUT: "taken out of the frontier",
    UrlAction.PUT_BACK: "put back into the frontier",
}


def handle_urls(run: Run, deed: UrlAction, ids: Sequence[int], *, by: User | None = None) -> int:
    """Do it to those of the URLs that it fits; returns how many.

    A crawl at work goes by it with its next claim, and the scheduler asks for a shift if it had
    none.

    Raises WrongState if the run has ended: nothing of it is fetched any more.
    """
    total = 0
    for some in (ids[start : start + BATCH] for start in range(0, len(ids), BATCH)):
        with locked_run(run.pk) as locked:
            _check(locked)
            # logged with each batch: the run, or this process, may end before the next
            if count := handle(locked, deed, some):
                note(
                    by,
                    run.crawl,
                    f"frontier: {deed.value.replace('_', ' ')}",
                    {"urls": (count, count)},
                )
                write(
                    run.pk,
                    f"{count:,} URL{'s' if count > 1 else ''} {DONE[deed]}, asked for by "
                    f"{by or 'the command line'}.",
                )
        total += count
    if deed == UrlAction.TAKE_OUT:
        settle_run(run.pk)  # nothing may be left, and it may be waiting for resources
    return total


def handle_all(
    run: Run, deed: UrlAction, wanted: FrontierFilter, *, by: User | None = None
) -> tuple[int, bool]:
    """The same to all that is found, up to MOST; returns how many, and whether there are more.

    Raises SearchTookTooLong, too.
    """
    ids = found_ids(run, replace(wanted, after=None), most=MOST + 1)
    return handle_urls(run, deed, ids[:MOST], by=by), len(ids) > MOST


def how_many(run: Run, wanted: FrontierFilter) -> tuple[int, bool]:
    """How many `handle_all` would change at once at most, and whether there are more.

    Raises SearchTookTooLong.
    """
    found = len(found_ids(run, replace(wanted, after=None), most=MOST + 1))
    return min(found, MOST), found > MOST


def _check(run: Run) -> None:
    if run.state in ENDED_STATES:
        raise WrongState(
            f"{run.crawl.name} has {run.state}: nothing waits in it any more. Start it anew, or "
            "retry what failed."
        )
