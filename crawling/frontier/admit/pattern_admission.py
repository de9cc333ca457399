"""Let in URLs that a rule has kept out and that pass now: as new links, by what is known of their
patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from crawling.frontier.admit.quarantine import catch, states_of
from crawling.frontier.admit.schedule import add_queues, schedule_urls
from crawling.frontier.types import Candidate
from crawling.models import Run
from crawling.orders.scope.trap_gate import TrapGate


class PatternAdmission(NamedTuple):
    new: int = 0
    caught: int = 0


def admit_by_pattern(
    cursor: CursorWrapper, run: Run, found: Iterable[Candidate], *, numbers: Sequence[int]
) -> PatternAdmission:
    """Queue them, but for those of patterns that are held or banned; seeds in any case.

    The caller holds the run's lock, and counts them.
    """
    gate = TrapGate(timezone.now().year, states_of(run.pk))
    wanted: list[Candidate] = []
    trapped: list[Candidate] = []
    for candidate in found:
        judged = gate.judge(candidate.address)
        if candidate.via is None:
            wanted.append(candidate)
        elif not judged.is_banned:
            key = judged.pattern.key if judged.pattern else None
            kept = replace(candidate, pattern=key, trap=judged.trap)
            (trapped if judged.trap else wanted).append(kept)
    if trapped:  # the queues of both at once, as of the links of pages
        add_queues(cursor, run.pk, [*wanted, *trapped], numbers=numbers)
    new = schedule_urls(run, wanted, numbers=numbers).new
    caught = catch(cursor, run, trapped, numbers=numbers).new if trapped else 0
    return PatternAdmission(new + caught, caught)
