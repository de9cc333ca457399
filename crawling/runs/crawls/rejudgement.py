"""Judge the URLs of live runs again by edited rules, a little at a time."""

from __future__ import annotations

import time
from collections.abc import Collection

from django.db import connection

from crawling.frontier import filters_of_run, locked_run, rules_key, serving_process_numbers
from crawling.frontier.admit.crawl_rules import KeptBlocklist, revision_of_key
from crawling.frontier.change.rejudgement import (
    LEAST,
    RejudgedBatch,
    rejudge_urls,
    rejudge_verdicts,
)
from crawling.installation.run_log import write
from crawling.models import OrderRevision, Run
from crawling.models.jobs import LIVE_IN_SQL, WORKING_STATES
from crawling.runs.shift_lifecycle import settle_run

#: the longest turn, since the scheduler's other duties wait meanwhile
BUDGET_SECONDS = 0.5
#: the seconds after which a turn reads the runs themselves. All other turns only count edits, and
#: may miss an edit that was made while its rules were being read
FULL_CHECK_SECONDS = 30.0

EDITS = """
SELECT (SELECT max(id) FROM crawling_orderrevision), count(*), count(removed_at)
FROM crawling_blocklistentry
"""
#: runs that are not judged by their current rules; with `rules_key` in SQL
BEHIND = f"""
SELECT r.id FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id,
    (SELECT '.' || count(*) || '.' || count(removed_at) AS listed
     FROM crawling_blocklistentry) entries
WHERE r.is_latest AND r.state IN {LIVE_IN_SQL}
  AND r.judged_by IS DISTINCT FROM c.revision || entries.listed
ORDER BY r.id
"""  # noqa: S608  # constants


class Rejudger:
    """Counts the edits, so that a turn without a new edit reads no run. The blocklist is kept in
    memory until all runs are judged by it.
    """

    def __init__(self) -> None:
        self._seen: object = None
        self._looked_at = 0.0
        self._blocklist = KeptBlocklist()

    def rejudge_after_edits(self) -> bool:
        """Continue with the runs whose rules have changed, if any were edited since. Return whether
        all are done.
        """
        now, edits = time.monotonic(), _rows_of_query(EDITS)
        if edits == self._seen and now - self._looked_at < FULL_CHECK_SECONDS:
            return True
        are_done = rejudge_live_runs(self._blocklist)
        if are_done:
            self._blocklist.forget()
        self._seen, self._looked_at = edits if are_done else None, now
        return are_done


def rejudge_live_runs(blocklist: KeptBlocklist | None = None) -> bool:
    """Continue with every live run whose rules have changed. Return whether all are done. Safe to
    repeat.

    blocklist: the list, if an earlier call has read it.
    """
    until, blocklist = time.monotonic() + BUDGET_SECONDS, blocklist or KeptBlocklist()
    return all(
        _rejudge_until(run_id, blocklist, until=until) for (run_id,) in _rows_of_query(BEHIND)
    )


def _rows_of_query(query: str) -> list[tuple[int, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def _rejudge_until(run_id: int, blocklist: KeptBlocklist, *, until: float) -> bool:
    """Judge the run by the rules until a time. Return whether the whole run is judged."""
    run = Run.objects.select_related("crawl").get(pk=run_id)
    while run.judged_by != rules_key(run.crawl):
        run = rejudge(run.pk, blocklist)
        if time.monotonic() > until:
            return False
    if run.state in WORKING_STATES and not run.queues.filter(queued__gt=0).exists():
        settle_run(run_id)  # the run may be waiting for resources for a shift that has no URL left
    return True


def rejudge(run_id: int, blocklist: KeptBlocklist) -> Run:
    """Judge the next batch of a run's URLs, and then of its verdicts, by the rules that apply
    now.
    """
    with locked_run(run_id) as run:
        key = rules_key(run.crawl)
        at = run.judged_to or {}
        if at.get("key") != key:  # if rules change meanwhile, the judgement begins again
            at = {"key": key, "is_at_verdicts": False, "after": LEAST, "out": 0, "back": 0}
        filters = filters_of_run(run.crawl, run, blocklist=blocklist.current())
        if at["is_at_verdicts"]:
            step = rejudge_verdicts(
                run, filters, numbers=serving_process_numbers(run.pk), after=at["after"]
            )
        else:
            step = rejudge_urls(run, filters, _fields_changed_since(run), after=at["after"])
        _store_place(run, at, step)
        run.save(update_fields=["judged_by", "judged_to"])
    return run


def _store_place(run: Run, at: dict[str, int | str | bool], step: RejudgedBatch) -> None:
    """Note how far the run has been judged, and in `judged_by` that all of it is."""
    out, back = int(at["out"]) + step.out, int(at["back"]) + step.back
    run.judged_to = {**at, "out": out, "back": back, "after": step.after}
    if step.after is not None:
        return
    if not at["is_at_verdicts"]:
        run.judged_to |= {"is_at_verdicts": True, "after": LEAST}
        return
    run.judged_by, run.judged_to = str(at["key"]), None
    if out or back:
        write(
            run.pk,
            f"The rules have changed: {out:,} waiting URLs were excluded, and {back:,} that had "
            f"been excluded were accepted.",
        )


def _fields_changed_since(run: Run) -> Collection[str]:
    """The fields of the order that were edited since the run's URLs were judged."""
    edits = OrderRevision.objects.filter(crawl=run.crawl, number__gt=revision_of_key(run.judged_by))
    return {name for changes in edits.values_list("changes", flat=True) for name in changes}
