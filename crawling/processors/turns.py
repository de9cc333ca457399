"""A host's turn at the address that serves it, which it may share with others."""

from __future__ import annotations

import random
from functools import partial
from ipaddress import ip_address

from crawling.frontier.addresses import Turn, take_turn
from crawling.processors.kit import Kit
from crawling.processors.visit import Visit

#: where turns could not be asked for, or had all been given out, chance spreads those who come back
LATER_SECONDS = 1.0


def has_turn(visit: Visit, dial: str, kit: Kit) -> bool:
    """Whether the visit may ask at this address now. If not, it comes back when it may."""
    gap = _gap(visit, dial, kit)
    if not gap or visit.turn == dial:
        visit.turn = ""
        return True
    turn = kit.ask(partial(take_turn, dial, gap))
    if turn is None or not turn.is_taken:
        visit.come_back_in((turn.seconds if turn else 0.0) + LATER_SECONDS * random.random())  # noqa: S311  # no secret
        return False
    if turn.seconds > 0:
        visit.turn = dial
        visit.come_back_in(turn.seconds)
    return turn.seconds == 0


def await_turn(visit: Visit, dial: str, kit: Kit) -> None:
    """Wait for the host's turn: for a request that follows another within one step."""
    while not kit.ending.is_set() and not await_next_turn(visit, dial, kit, or_wait=True):
        pass


def await_next_turn(visit: Visit, dial: str, kit: Kit, *, or_wait: bool = False) -> bool:
    """Wait for the next turn, AHEAD_SECONDS at most; False: there are none to be had at the moment, or, with `or_wait`, in the moments that
    have passed until there are."""
    gap = _gap(visit, dial, kit)
    if not gap:
        return True
    turn = kit.ask(partial(take_turn, dial, gap)) or Turn(LATER_SECONDS, is_taken=False)
    if turn.is_taken or or_wait:
        kit.pause(turn.seconds)
    return turn.is_taken


def _gap(visit: Visit, dial: str, kit: Kit) -> float:
    """Seconds between two turns; 0: the address has no clock. Whoever wants no rest for the host wants none for its address."""
    gap = min(kit.politeness.address_delay_seconds, visit.configured_delay)
    return 0.0 if gap and any(ip_address(dial) in network for network in kit.shared_networks) else gap
