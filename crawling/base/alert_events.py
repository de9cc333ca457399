"""The events that users can be alerted of."""

from __future__ import annotations

from enum import StrEnum


class AlertEvent(StrEnum):
    """Events of a run, of a pool or of a week."""

    STARTED = "started"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    TROUBLE = "trouble"  # it paused or stopped by itself
    WAITING = "waiting"  # it has waited for resources for longer than its order allows in silence
    HELD = "held"  # URLs that look like a trap's wait for an operator's decision
    PAGE_CHANGED = "page changed"  # of watched pages, after a run
    PAGE_GONE = "page gone"
    PAGE_NEW = "new page"
    LINKS_BROKEN = "links broken"  # that the run before had not, or had in order
    LINKS_FIXED = "links fixed"
    WEEK = "weekly summary"  # of the news of all crawls, or of one
    UNSAFE = "unsafe"  # of a pool: its state is not safe, or units are missing
