"""The waits of shifts that hold units and need more for a document in hand, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from allocation.models import Request, RequestKind, RequestState
from allocation.selectors import waits_of
from allocation.snapshot import WaitRow
from crawling.models import Run, RunProcess
from crawling.orders.claims import ARCHIVE_WRITERS, BROWSER_MEMORY, BROWSER_PAGES

#: the first of a request's classes names what is waited for
WORDS = {
    BROWSER_PAGES: "a browser",
    BROWSER_MEMORY: "browser memory",
    ARCHIVE_WRITERS: "an archive writer",
    "memory": "memory",
}


def stage_in_words(classes: Iterable[str]) -> str:
    """The wait of fetch threads for units of these classes, as a sentence."""
    asked = frozenset(classes)
    named = next((words for key, words in WORDS.items() if key in asked), "more units")
    return f"Fetch threads wait for {named}."


def stage_reasons(
    runs: Sequence[Run], waits: Mapping[int, WaitRow] | None = None
) -> dict[int, str]:
    """The waits of the runs' shifts, by run id, each with its reason.

    waits: the waits of the runs' processes in the pool, if the caller has read them already.
    """
    if waits is None:
        asking = Request.objects.filter(
            process__run_process__run__in=runs, state=RequestState.WAITING, kind=RequestKind.STAGE
        )
        processes = list(asking.values_list("process_id", flat=True))
        waits = waits_of(processes) if processes else {}
    asked = {pk: wait for pk, wait in waits.items() if wait.kind == RequestKind.STAGE}
    if not asked:
        return {}
    of_runs = RunProcess.objects.filter(bank_process__in=asked).order_by("-number")
    return {
        run: f"{stage_in_words(asked[pk].amounts)} {asked[pk].reason}"
        for pk, run in of_runs.values_list("bank_process", "run")
    }
