"""A host's turn at the address that serves it, which it may share with others."""

from __future__ import annotations

import random
from functools import partial

from crawling.frontier.address_clock import AddressTurn, take_turn
from crawling.work.pipeline.context import FetchContext
from crawling.work.pipeline.visit import Visit

#: where turns could not be read, or had all been given out, a random delay spreads the retries
LATER_SECONDS = 1.0


def acquire_turn(visit: Visit, dial: str, context: FetchContext) -> bool:
    """Whether the visit may ask at this address now. If not, it comes back when it may."""
    gap = context.pace.address_gap(dial, visit.clock.configured_delay)
    if not gap or visit.route.turn == dial:
        visit.route.turn = ""
        return True
    turn = context.port.ask(partial(take_turn, dial, gap))
    if turn is None or not turn.is_taken:
        # no secret
        visit.clock.come_back_in((turn.seconds if turn else 0.0) + LATER_SECONDS * random.random())  # noqa: S311
        return False
    if turn.seconds > 0:
        visit.route.turn = dial
        visit.clock.come_back_in(turn.seconds)
    return turn.seconds == 0


def wait_for_turn(visit: Visit, dial: str, context: FetchContext) -> None:
    """Wait for the host's turn: for a request that follows another within one step."""
    while not context.pace.ending.is_set() and not wait_for_next_turn(
        visit, dial, context, or_wait=True
    ):
        pass


def wait_for_next_turn(
    visit: Visit, dial: str, context: FetchContext, *, or_wait: bool = False
) -> bool:
    """Wait for the next turn, AHEAD_SECONDS at most. False: no turn is free now; with `or_wait`,
    only after a wait for one.
    """
    gap = context.pace.address_gap(dial, visit.clock.configured_delay)
    if not gap:
        return True
    turn = context.port.ask(partial(take_turn, dial, gap)) or AddressTurn(
        LATER_SECONDS, is_taken=False
    )
    if turn.is_taken or or_wait:
        context.pace.pause(turn.seconds)
    return turn.is_taken
