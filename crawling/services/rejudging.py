"""Hold live runs against rules that were edited, a little at a time."""

from __future__ import annotations

import time
from collections.abc import Collection

from crawling.frontier.filtering import filters_of, revision_in, rules_key
from crawling.frontier.locking import locked_run
from crawling.frontier.rejudging import LEAST, Step, rejudge_urls, rejudge_verdicts
from crawling.logbook import write
from crawling.models import OrderRevision, Run
from crawling.models.jobs import ENDED_STATES

#: the keeper has other duties, too
BUDGET_SECONDS = 0.5


def rejudge_live_runs() -> None:
    """Go on with every live run whose rules have changed. Safe to repeat, and to break off at any batch."""
    ends_at = time.monotonic() + BUDGET_SECONDS
    for run in Run.objects.select_related("crawl").exclude(state__in=ENDED_STATES):
        while run.judged_by != rules_key(run.crawl):
            run = rejudge(run.pk)
            if time.monotonic() > ends_at:
                return


def rejudge(run_id: int) -> Run:
    """Hold the next batch of a run's URLs, and then of its verdicts, against the rules as they are now."""
    with locked_run(run_id) as run:
        key = rules_key(run.crawl)
        at = run.judged_to or {}
        if at.get("key") != key:  # rules that change meanwhile begin it anew
            at = {"key": key, "is_at_verdicts": False, "after": LEAST, "out": 0, "back": 0}
        filters = filters_of(run.crawl, run)
        if at["is_at_verdicts"]:
            step = rejudge_verdicts(run, filters, numbers=range(run.crawl.processes), after=at["after"])
        else:
            step = rejudge_urls(run, filters, _changed_since(run), after=at["after"])
        _move_on(run, at, step)
        run.save(update_fields=["judged_by", "judged_to"])
    return run


def _move_on(run: Run, at: dict[str, int | str | bool], step: Step) -> None:
    """Note how far the run has been judged; `judged_by` once it is all of it."""
    out, back = int(at["out"]) + step.out, int(at["back"]) + step.back
    run.judged_to = {**at, "out": out, "back": back, "after": step.after}
    if step.after is not None:
        return
    if not at["is_at_verdicts"]:
        run.judged_to |= {"is_at_verdicts": True, "after": LEAST}
        return
    run.judged_by, run.judged_to = str(at["key"]), None
    if out or back:
        write(run.pk, f"The rules have changed: {out:,} waiting URLs were excluded, and {back:,} were let in that had been kept out.")


def _changed_since(run: Run) -> Collection[str]:
    """The fields of the order that were edited since the run's URLs were judged."""
    edits = OrderRevision.objects.filter(crawl=run.crawl, number__gt=revision_in(run.judged_by))
    return {name for changes in edits.values_list("changes", flat=True) for name in changes}
