"""The actions of an operator on a crawl, each named by one word. Buttons, endpoints, actions on
many crawls and commands are made from these. `crawling.runs.transitions` has the states that allow
each action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from crawling.models import Run
from crawling.runs.start import start_run
from crawling.runs.steering import abort, pause, resume, stop


@dataclass(frozen=True, slots=True)
class Verb:
    do: Callable[..., Run]
    #: the CSS class of the icon on the button
    icon: str
    #: the help of the command
    help: str
    #: the description of the endpoint: a line, and the full text
    summary: str
    description: str = ""
    #: the label of the button, if it differs from the word
    label: str = ""
    #: the title of the button, in addition to the label
    title: str = ""
    #: whether the action takes `keep_seconds`, the time for which the crawl's units stay reserved
    may_keep: bool = False


#: by word, in the order of the command's help
VERBS = {
    "start": Verb(start_run, "i-play", "start a run of a crawl that exists", "Start a new run"),
    "pause": Verb(
        pause,
        "i-pause",
        "pause the run; what it holds is released",
        "Pause: finish running fetches, and release or keep the units",
        may_keep=True,
    ),
    "resume": Verb(
        resume,
        "i-play",
        "continue a paused run, or one that ended with URLs in its queue",
        "Continue the latest run, paused or ended with URLs in its queue",
        description="The same run continues with its queue, known URLs, pages and archive. 409 "
        "where the queue is\nempty or a limit is reached.",
    ),
    "stop": Verb(
        stop,
        "i-square",
        "end the run once the fetches under way have ended; its queue is kept",
        "Finish running fetches and end the run; its pages and queue are kept",
        description="`queued` URLs stay in the queue, and `resume` continues the run, until the "
        "crawl is started\nagain or the run is deleted. Pages and command line confirm first, with "
        "this count.",
    ),
    "abort": Verb(
        abort,
        "i-octagon-x",
        "end the run at once; its queue is kept",
        "Cancel running fetches and end the run; its pages and queue are kept",
        description="Also applies to a run that is stopping.\n\nCancelled fetches are not counted, "
        "and their URLs are queued again. `resume` continues the run.",
        title="Fetches under way are cut off and count for nothing; its pages and its queue are "
        "kept.",
    ),
}
#: the start of a crawl that already has a run
AGAIN = replace(VERBS["start"], label="Run again", icon="i-rotate-cw")
#: the resumption of a run that ended at a limit, which has to be raised first
RAISED = replace(VERBS["resume"], label="Raise the limit and continue")


def offered_verbs(
    words: Iterable[str], *, has_run: bool, is_at_limit: bool = False
) -> dict[str, Verb]:
    """The verbs of these words, for a crawl with or without a run."""
    shown = (
        VERBS | ({"start": AGAIN} if has_run else {}) | ({"resume": RAISED} if is_at_limit else {})
    )
    return {word: shown[word] for word in words}
