"""A run's frontier, to be looked through: waiting URLs, host by host in the order of visits, and
those that were taken out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, QuerySet, Sum

from allocation.wording import whole_number
from crawling.frontier.change.manual_order import taken_out
from crawling.models import Run, Url, UrlState
from crawling.timed import time_limit
from serving.requests import asked_text

#: what can be looked through, by the word in the address
WAITING, IN_HAND, QUARANTINED, TAKEN_OUT = "waiting", "in hand", "quarantined", "taken out"
PLACES = (WAITING, IN_HAND, QUARANTINED, TAKEN_OUT)
LONGEST_TEXT = 200

#: Queue by queue along the index `urls_waiting`, so that no list sorts what waits; a lateral join
#: keeps the order of its left side.
IN_ORDER = f"""
SELECT u.id FROM (
    SELECT id FROM crawling_hostqueue WHERE run_id = %(run)s AND queued > 0 AND id >= %(queue)s
       AND (%(host)s = '' OR host_id = (SELECT id FROM crawling_host WHERE name = %(host)s))
           ORDER BY id
) AS q CROSS JOIN LATERAL (
    SELECT id FROM crawling_url WHERE queue_id = q.id AND state = '{UrlState.QUEUED}'
        AND (%(text)s = '' OR position(%(text)s IN lower(url)) > 0)
       AND (q.id <> %(queue)s OR (lane, rank, id) > (%(lane)s, %(rank)s, %(id)s))
           ORDER BY lane, rank, id LIMIT %(most)s
) AS u LIMIT %(most)s
"""  # noqa: S608 - the states are constants
START = {"queue": 0, "lane": 0, "rank": 0.0, "id": 0}


@dataclass(frozen=True)
class FrontierFilter:
    """What is looked for."""

    place: str = WAITING
    #: all of its name
    host: str = ""
    #: part of the address, in any case
    text: str = ""
    #: the id of the last URL seen
    after: int | None = None

    @classmethod
    def read(cls, query: Any) -> FrontierFilter:
        """Of an address or a form; nonsense counts as nothing."""
        place, after = query.get("place", ""), query.get("after", "")
        host, text = (asked_text(query, name, most=LONGEST_TEXT) for name in ("host", "q"))
        return cls(place if place in PLACES else WAITING, host.lower(), text, whole_number(after))


def frontier_of(run: Run, wanted: FrontierFilter, *, most: int) -> tuple[list[Url], int | None]:
    """Up to `most` URLs, each with its host as `host_name`, and the id to go on after.

    Raises SearchTookTooLong.
    """
    ids = found_ids(run, wanted, most=most + 1)
    rows = (
        Url.objects.filter(pk__in=ids[:most]).annotate(host_name=F("queue__host__name")).in_bulk()
    )
    return [rows[pk] for pk in ids[:most] if pk in rows], ids[most - 1] if len(ids) > most else None


def found_ids(run: Run, wanted: FrontierFilter, *, most: int) -> list[int]:
    """The ids of what is found, in the order in which it is shown. Raises SearchTookTooLong."""
    with time_limit() as cursor:
        if wanted.place != WAITING:
            return list(_others(run, wanted).order_by("pk").values_list("pk", flat=True)[:most])
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
            IN_ORDER,
            {
                **after,
                "run": run.pk,
                "host": wanted.host,
                "text": wanted.text.lower(),
                "most": most,
            },
        )
        return [row[0] for row in cursor.fetchall()]


def _others(run: Run, wanted: FrontierFilter) -> QuerySet[Url]:
    """What is not waiting: few in number, or found along an index of its own."""
    found = (
        taken_out(run)
        if wanted.place == TAKEN_OUT
        else Url.objects.filter(run=run, state=_state(wanted.place))
    )
    if wanted.host:
        found = found.filter(queue__host__name=wanted.host)
    if wanted.text:
        found = found.filter(url__icontains=wanted.text)
    return found.filter(pk__gt=wanted.after) if wanted.after else found


def _state(place: str) -> UrlState:
    return UrlState.IN_PROCESS if place == IN_HAND else UrlState.QUARANTINED


def waiting_count(run: Run) -> int:
    """How many wait in all, as their hosts' queues count them."""
    return int(run.queues.aggregate(n=Sum("queued", default=0))["n"])


def as_text(run: Run, wanted: FrontierFilter, *, batch: int = 5_000) -> Iterator[str]:
    """All that is found, an address a line, however much it is."""
    after: int | None = None
    while True:
        rows, after = frontier_of(run, replace(wanted, after=after), most=batch)
        yield "".join(f"{row.url}\n" for row in rows)
        if after is None:
            return
