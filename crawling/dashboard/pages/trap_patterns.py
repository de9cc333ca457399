"""The patterns of a run that look like traps, with samples for the operator who decides about them.
A list takes two queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection

from crawling.models import Run, TrapPattern, UrlState
from crawling.orders.scope.trap_gate import TrapState
from crawling.orders.scope.trap_patterns import hold_reason
from serving.paging import rows_and_next

#: for each pattern, the number of its quarantined URLs and the first few of them
HELD = f"""
SELECT p.key, held.n, sample.urls FROM unnest(%(keys)s::bigint[]) AS p(key)
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM crawling_url
    WHERE run_id = %(run)s AND pattern = p.key AND state = '{UrlState.QUARANTINED}'
) held
CROSS JOIN LATERAL (
    SELECT array_agg(url ORDER BY id) AS urls FROM (
        SELECT id, url FROM crawling_url
        WHERE run_id = %(run)s AND pattern = p.key AND state = '{UrlState.QUARANTINED}' ORDER BY id
            LIMIT 5
    ) few
) sample
"""  # noqa: S608 - the states are constants


@dataclass(frozen=True)
class TrapView:
    key: int
    pattern: str
    state: str
    rule: str
    #: the reason why the pattern is suspicious
    reason: str
    fetched: int
    fresh: int
    held: int
    samples: Sequence[str] = field(default_factory=tuple)


def list_traps(run: Run, *, after: int = 0, most: int) -> tuple[list[TrapView], int | None]:
    """The run's suspicious, approved and banned patterns, in the order in which they were found."""
    found = (
        TrapPattern.objects.filter(run=run, pk__gt=after)
        .exclude(state=TrapState.WATCHED)
        .order_by("pk")
    )
    rows, following = rows_and_next(found, most)
    return _views(run, rows), following


def undecided_patterns(run: Run, *, most: int) -> list[TrapView]:
    return _views(
        run,
        list(
            TrapPattern.objects.filter(run=run, state=TrapState.QUARANTINED).order_by("pk")[:most]
        ),
    )


def _views(run: Run, rows: Sequence[TrapPattern]) -> list[TrapView]:
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(HELD, {"run": run.pk, "keys": [row.key for row in rows]})
        held = {key: (count, tuple(urls or ())) for key, count, urls in cursor.fetchall()}
    return [
        TrapView(
            row.key,
            row.pattern,
            row.state,
            row.rule,
            hold_reason(row.rule) if row.rule else "",
            row.fetched,
            row.fresh,
            *held[row.key],
        )
        for row in rows
    ]
