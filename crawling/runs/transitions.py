"""The states of a run and what leads from one to another."""

from __future__ import annotations

from dataclasses import dataclass

from crawling.models.jobs import ENDED_STATES, PAUSE_STATES, WORKING_STATES, RunState


@dataclass(frozen=True, slots=True)
class RunAction:
    """What an operator may do to a run."""

    to: RunState
    allowed_from: frozenset[str]
    done: str
    """the word for it once done"""


_UNDER_WAY = frozenset({*WORKING_STATES, *PAUSE_STATES})
ACTIONS = {
    "pause": RunAction(RunState.PAUSING, frozenset(WORKING_STATES), "paused"),
    "resume": RunAction(RunState.QUEUED, frozenset({*PAUSE_STATES, *ENDED_STATES}), "resumed"),
    "stop": RunAction(RunState.STOPPING, _UNDER_WAY, "stopped"),
    "abort": RunAction(RunState.STOPPING, _UNDER_WAY | {RunState.STOPPING}, "aborted"),
}
#: these end a run: whoever asks for one confirms it
ENDING = frozenset({"stop", "abort"})
#: what a run that winds down becomes when no shift of it is alive
WOUND_DOWN = {RunState.PAUSING: RunState.PAUSED, RunState.STOPPING: RunState.STOPPED}
#: in these a new run may start
AT_REST = frozenset({"draft", *ENDED_STATES})


def possible(state: str, *, queued: int, is_aborting: bool = False) -> list[str]:
    """The actions for a state as pages show it (`start` begins a new run), the likeliest first.

    queued: URLs in the run's queue. A run that has ended is resumed only for what is left in it.
    """
    stored = RunState.QUEUED if state == "waiting" else state
    if stored in AT_REST:
        return ["resume", "start"] if queued and stored in ENDED_STATES else ["start"]
    if is_aborting:
        return []
    return [word for word, action in ACTIONS.items() if stored in action.allowed_from]


def after(word: str, state: RunState) -> RunState | None:
    """The state that an action leads to while no shift is alive; None: it is not allowed."""
    action = ACTIONS[word]
    return WOUND_DOWN.get(action.to, action.to) if state in action.allowed_from else None


def told_before(word: str, *, queued: int, in_hand: int) -> str:
    """What a stop or an abort keeps and loses, before it is confirmed."""
    urls = f"{queued:,} queued URL{'' if queued == 1 else 's'}"
    fetches = "1 fetch under way is" if in_hand == 1 else f"{in_hand:,} fetches under way are"
    end = "lost and queued again" if word == "abort" else "finished first"
    return (
        f"{urls} and all pages are kept, {fetches} {end}, and nothing more is fetched until the "
        "run is resumed, which is possible until the crawl is run again."
    )
