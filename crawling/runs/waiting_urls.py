"""Lists of a run's frontier, and manual changes of it. The lists have waiting URLs, host by host in
the order of visits, and URLs that were taken out. Failed URLs can be queued again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL

from allocation.wording import whole_number
from crawling.base.audit import record_action
from crawling.base.errors import WrongState
from crawling.base.timed import time_limit
from crawling.frontier import counts_of, limit_reached, locked_run
from crawling.frontier.change.manual_order import (
    UrlAction,
    apply_action,
    excluded_urls,
    requeue_failed,
)
from crawling.installation.run_log import write
from crawling.models import CrawlJob, Run, Url, UrlState
from crawling.models.jobs import ENDED_STATES, WORKING_STATES, RunState
from crawling.runs.grants import register_processes, request_shifts
from crawling.runs.shift_lifecycle import settle_run
from crawling.runs.steering import reopen
from crawling.web.statuses import status_sentence
from serving.paging import cut_to_limit
from serving.requests import asked_text

#: the lists, by the word in the page's address
WAITING, IN_HAND, QUARANTINED, TAKEN_OUT = "waiting", "in hand", "quarantined", "taken out"
PLACES = (WAITING, IN_HAND, QUARANTINED, TAKEN_OUT)
LONGEST_TEXT = 200

#: the host queues that are listed
QUEUES = """
SELECT id FROM crawling_hostqueue WHERE run_id = %(run)s AND queued > 0 AND id >= %(queue)s
    AND (%(host)s = '' OR host_id = (SELECT id FROM crawling_host WHERE name = %(host)s))
"""
#: Queue by queue along the index `urls_waiting`, so that no list of waiting URLs has to be sorted;
#: a lateral join keeps the order of its left side.
IN_ORDER = f"""
SELECT u.id FROM ({QUEUES} ORDER BY id) AS q CROSS JOIN LATERAL (
    SELECT id FROM crawling_url WHERE queue_id = q.id AND state = '{UrlState.QUEUED}'
       AND (q.id <> %(queue)s OR (lane, rank, id) > (%(lane)s, %(rank)s, %(id)s))
           ORDER BY lane, rank, id LIMIT %(most)s
) AS u LIMIT %(most)s
"""  # noqa: S608 - the states are constants
#: Along the same index in one query, since all waiting URLs may have to be read. Canonical
#: addresses are ASCII, so letter case needs no knowledge of languages.
SEARCHED = f"""
SELECT id FROM crawling_url WHERE queue_id = ANY(ARRAY({QUEUES})) AND state = '{UrlState.QUEUED}'
    AND (queue_id, lane, rank, id) > (%(queue)s, %(lane)s, %(rank)s, %(id)s)
    AND position(%(text)s IN lower(url COLLATE "C")) > 0
ORDER BY queue_id, lane, rank, id LIMIT %(most)s
"""  # noqa: S608 - likewise
START = {"queue": 0, "lane": 0, "rank": 0.0, "id": 0}
#: the number of rows changed in one transaction; a shift that needs the lock waits for at most one
#: such transaction
BATCH = 2_000
#: the most URLs of one action, since the browser waits for it; the answer says whether there are
#: more
MOST = 50_000
DONE = {
    UrlAction.FIRST: "sent ahead of all others of the host",
    UrlAction.USUAL: "left to the crawl's order again",
    UrlAction.LAST: "sent behind all others of the host",
    UrlAction.TAKE_OUT: "removed from the queue",
    UrlAction.PUT_BACK: "put back into the queue",
}


@dataclass(frozen=True)
class FrontierFilter:
    place: str = WAITING
    #: the whole host name
    host: str = ""
    #: a part of the address, in upper or lower case
    text: str = ""
    #: the id of the last URL seen
    after: int | None = None

    @classmethod
    def read(cls, query: Any) -> FrontierFilter:
        """The filter that a URL's query or a form asks for. Invalid values are ignored."""
        place, after = query.get("place", ""), query.get("after", "")
        host, text = (asked_text(query, name, most=LONGEST_TEXT) for name in ("host", "q"))
        return cls(place if place in PLACES else WAITING, host.lower(), text, whole_number(after))


def frontier_of(run: Run, wanted: FrontierFilter, *, most: int) -> tuple[list[Url], int | None]:
    """Up to `most` URLs, each with its host as `host_name`, and the id to continue after.

    Raises SearchTookTooLong.
    """
    ids = ids_of_found_urls(run, wanted, most=most + 1)
    rows = (
        Url.objects.filter(pk__in=ids[:most]).annotate(host_name=F("queue__host__name")).in_bulk()
    )
    return [rows[pk] for pk in ids[:most] if pk in rows], ids[most - 1] if len(ids) > most else None


def ids_of_found_urls(run: Run, wanted: FrontierFilter, *, most: int) -> list[int]:
    """The ids of the found URLs, in the order in which they are shown. Raises SearchTookTooLong."""
    with time_limit() as cursor:
        if wanted.place != WAITING:
            # An order by id alone would let PostgreSQL search along the primary key, through the
            # URLs of all runs.
            order = "pk" if wanted.place == TAKEN_OUT else F("pk") + 0
            return list(
                _other_urls(run, wanted).order_by(order).values_list("pk", flat=True)[:most]
            )
        last = (
            Url.objects.filter(pk=wanted.after, run=run)
            .values("queue_id", "lane", "rank", "id")
            .first()
            if wanted.after
            else None
        )
        after = (
            {
                "queue": last["queue_id"],
                "lane": last["lane"],
                "rank": last["rank"],
                "id": last["id"],
            }
            if last
            else START
        )
        cursor.execute(
            SEARCHED if wanted.text else IN_ORDER,
            {
                **after,
                "run": run.pk,
                "host": wanted.host,
                "text": wanted.text.lower(),
                "most": most,
            },
        )
        return [row[0] for row in cursor.fetchall()]


def _other_urls(run: Run, wanted: FrontierFilter) -> QuerySet[Url]:
    """URLs that do not wait: they are few, or a separate index finds them."""
    found = (
        excluded_urls(run)
        if wanted.place == TAKEN_OUT
        else Url.objects.filter(run=run, state=_state_of_place(wanted.place))
    )
    if wanted.host:
        found = found.filter(queue__host__name=wanted.host)
    if wanted.text:
        found = found.filter(url__icontains=wanted.text)
    return found.filter(pk__gt=wanted.after) if wanted.after else found


def _state_of_place(place: str) -> UrlState:
    return UrlState.IN_PROCESS if place == IN_HAND else UrlState.QUARANTINED


def waiting_count(run: Run) -> int:
    return counts_of([run.pk])[run.pk].queued


def url_lines(run: Run, wanted: FrontierFilter, *, batch: int = 5_000) -> Iterator[str]:
    """All found URLs, one a line, however many there are."""
    after: int | None = None
    while True:
        ids = ids_of_found_urls(run, replace(wanted, after=after), most=batch + 1)
        ids, after = cut_to_limit(ids, batch, int)
        # one value instead of model objects: for thousands of rows Django takes longer than
        # PostgreSQL
        rows = Url.objects.filter(pk__in=RawSQL("SELECT unnest(%s::bigint[])", [ids]))
        urls = dict(rows.values_list("pk", "url"))
        yield "".join(f"{urls[pk]}\n" for pk in ids if pk in urls)
        if after is None:
            return


def change_urls(run: Run, deed: UrlAction, ids: Sequence[int], *, by: User | None = None) -> int:
    """Apply an action to the URLs that it fits. Return their number.

    A running shift sees the change when it claims its next URLs; for a run without a shift the
    scheduler requests one.

    Raises WrongState if the run has ended.
    """
    total = 0
    for some in (ids[start : start + BATCH] for start in range(0, len(ids), BATCH)):
        with locked_run(run.pk) as locked:
            _check_not_ended(locked)
            # logged with each batch, since the run or this process may end before the next
            if count := apply_action(locked, deed, some):
                record_action(
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
        settle_run(run.pk)  # no URL may be left, while the run still waits for resources
    return total


def change_found_urls(
    run: Run, deed: UrlAction, wanted: FrontierFilter, *, by: User | None = None
) -> tuple[int, bool]:
    """Apply an action to all found URLs, up to MOST. Return their number, and whether there are
    more.

    Raises SearchTookTooLong, too.
    """
    ids = ids_of_found_urls(run, replace(wanted, after=None), most=MOST + 1)
    return change_urls(run, deed, ids[:MOST], by=by), len(ids) > MOST


def changeable_count(run: Run, wanted: FrontierFilter) -> tuple[int, bool]:
    """The number of URLs that `change_found_urls` would change, at most MOST, and whether there are
    more.

    Raises SearchTookTooLong.
    """
    found = len(ids_of_found_urls(run, replace(wanted, after=None), most=MOST + 1))
    return min(found, MOST), found > MOST


def _check_not_ended(run: Run) -> None:
    if run.state in ENDED_STATES:
        raise WrongState(
            f"{run.crawl.name} has {run.state}: nothing waits in it any more. Start it anew, or "
            "retry what failed."
        )


def retry_failed(
    crawl: CrawlJob, *, by: User | None = None, status: int | None = None, url_id: int | None = None
) -> int:
    """Put failed URLs of the latest run back into their queues: all, those of one status, or one by
    its id. Return their number.

    An ended run continues with these and all other queued URLs. In a paused run the URLs wait until
    it is resumed. Raises WrongState if the crawl was never started, or if its run is stopping, has
    no such URL, or may not fetch more; then nothing has changed.
    """
    latest = crawl.runs.first()
    if latest is None:
        raise WrongState(f"{crawl.name} has never been started.")
    with locked_run(latest.pk) as run:
        count, done = _requeue_and_reopen(run, by, status, url_id)
    while done < count:  # URLs that have failed again meanwhile are left out
        with locked_run(latest.pk) as run:
            done += requeue_failed(run.pk, status=status) or count
    if run.state in WORKING_STATES:
        register_processes(run)
        request_shifts(run)
    return count


def _requeue_and_reopen(
    run: Run, by: User | None, status: int | None, url_id: int | None
) -> tuple[int, int]:
    """Put the first slice back, and let the run continue. Return the number of URLs in total, and
    in the slice.
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
    record_action(by, run.crawl, "retried failed URLs", {"failed": (count, 0)})
    cause = "" if status is None else f" ({status_sentence(status)})"
    told = "A failed URL is" if count == 1 else f"{count:,} failed URLs{cause} are"
    write(run.pk, f"{told} to be tried again, asked for by {by or 'the command line'}.")
    if run.state in ENDED_STATES:
        reopen(run, "Waiting for a worker, to try failed URLs again.")
    return count, done
