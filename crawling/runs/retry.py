"""Try failed URLs again."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils import timezone

from crawling.audit import note
from crawling.errors import WrongState
from crawling.frontier.change.retry import requeue_failed
from crawling.frontier.run_limits import limit_reached
from crawling.frontier.run_lock import locked_run
from crawling.models import CrawlJob, Run, UrlState
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.run_log import write
from crawling.runs.grants import ask_for_shifts, enroll
from crawling.web.statuses import explain


def retry_failed(
    crawl: CrawlJob, *, by: User | None = None, status: int | None = None, url_id: int | None = None
) -> int:
    """Put the failed URLs of the latest run back into their queues, all, those of one status, or
    one by its id; returns how many.

    A run that had ended goes on with them and whatever else it had queued; a paused one keeps them
    until it is resumed. Raises WrongState if it was never started, is stopping, has no such URL, or
    may not fetch more; then nothing has changed.
    """
    latest = crawl.runs.first()
    if latest is None:
        raise WrongState(f"{crawl.name} has never been started.")
    with locked_run(latest.pk) as run:
        count, done = _requeue(run, by, status, url_id)
    while done < count:  # what has failed again meanwhile is not tried once more
        with locked_run(latest.pk) as run:
            done += requeue_failed(run.pk, status=status) or count
    if run.state in WORKING_STATES:
        enroll(run)
        ask_for_shifts(run)
    return count


def _requeue(run: Run, by: User | None, status: int | None, url_id: int | None) -> tuple[int, int]:
    """Put the first slice back, and let the run go on; returns how many URLs there are in all, and
    in it.
    """
    if run.state == RunState.STOPPING:
        raise WrongState(
            f"{run.crawl.name} is stopping; try its failed URLs again once it has stopped."
        )
    which_failed = {"status": status, "pk": url_id}
    failed = run.urls.filter(
        state=UrlState.FAILED,
        **{name: value for name, value in which_failed.items() if value is not None},
    )
    count = failed.count()
    done = requeue_failed(run.pk, status=status, url_id=url_id)
    if not count:
        which = "" if status is None else f" with status {status}"
        raise WrongState(
            f"{run.crawl.name} has no URL that failed{which}."
            if url_id is None
            else "That URL has not failed, or not any more."
        )
    if sentence := limit_reached(run):
        raise WrongState(f"{sentence} Raise that limit, then try again.")
    note(by, run.crawl, "retried failed URLs", {"failed": (count, 0)})
    cause = "" if status is None else f" ({explain(status)})"
    told = "A failed URL is" if count == 1 else f"{count:,} failed URLs{cause} are"
    write(run.pk, f"{told} to be tried again, asked for by {by or 'the command line'}.")
    if run.state in ENDED_STATES:
        run.state, run.reason, run.finished_at = (
            RunState.QUEUED,
            "Requesting resources for a shift, to try failed URLs again.",
            None,
        )
        run.resumed_at, run.aborted_at, run.trouble = timezone.now(), None, ""
        run.save(
            update_fields=["state", "reason", "finished_at", "resumed_at", "aborted_at", "trouble"]
        )
    return count, done
