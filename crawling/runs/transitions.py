"""The states of a run, and the actions that lead from one to another."""

from __future__ import annotations

from dataclasses import dataclass

from crawling.models.jobs import ENDED_STATES, PAUSE_STATES, WORKING_STATES, RunState


@dataclass(frozen=True, slots=True)
class RunAction:
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
#: the actions that end a run
ENDING = frozenset({"stop", "abort"})
#: actions that need a confirmation if something would be lost
CONFIRMED = ENDING | {"start"}
#: the state that a run gets after winding down, once no shift of it is alive
WOUND_DOWN = {RunState.PAUSING: RunState.PAUSED, RunState.STOPPING: RunState.STOPPED}
#: the reason of a run that has a working shift
FETCHING = "Fetching."
#: the states in which a new run may start
AT_REST = frozenset({"draft", *ENDED_STATES})


def possible_actions(state: str, *, queued: int, is_aborting: bool = False) -> list[str]:
    """The actions that are possible in a state, the likeliest first; `start` begins a new run.
    state: as pages show it.

    queued: the number of URLs in the run's queue. An ended run is resumed only for URLs left in its
    queue.
    """
    stored = RunState.QUEUED if state == "waiting" else state
    if stored in AT_REST:
        return ["resume", "start"] if queued and stored in ENDED_STATES else ["start"]
    if is_aborting:
        return []
    return [word for word, action in ACTIONS.items() if stored in action.allowed_from]


def state_after(word: str, state: RunState) -> RunState | None:
    """The state that an action leads to while no shift is alive; None if it is not allowed."""
    action = ACTIONS[word]
    return WOUND_DOWN.get(action.to, action.to) if state in action.allowed_from else None


def loss_sentence(word: str, *, queued: int, in_hand: int) -> str:
    """The sentence about what a stop or an abort loses, for its confirmation."""
    if not queued and not in_hand:
        return "All pages are kept, and the queue is empty, so the run cannot be resumed."
    fetches = "1 fetch under way is" if in_hand == 1 else f"{in_hand:,} fetches under way are"
    end = "lost and queued again" if word == "abort" else "finished first"
    under_way = f" {fetches} {end}," if in_hand else ""
    return (
        f"{_urls_in_words(queued)} and all pages are kept,{under_way} and nothing more is "
        "fetched until the "
        "run is resumed, which is possible until the crawl is run again."
    )


def start_loss_sentence(*, number: int, queued: int) -> str:
    """The sentence about what a new run loses of a stopped run, for its confirmation."""
    return (
        f"A new run begins with the start URLs. All pages of run {number} are kept, but it "
        "cannot be resumed any more, "
        f"and its {_urls_in_words(queued)} {'is' if queued == 1 else 'are'} not fetched "
        "unless the new run finds them."
    )


def _urls_in_words(queued: int) -> str:
    return f"{queued:,} queued URL{'' if queued == 1 else 's'}"
