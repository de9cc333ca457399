"""The events of which users can be alerted."""

from __future__ import annotations

from enum import StrEnum


class AlertEvent(StrEnum):
    """Events of a run, of a pool or of a week."""

    STARTED = "started"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    TROUBLE = "trouble"  # the run paused or stopped by itself
    # the run has waited for resources for longer than its order allows without an alert
    WAITING = "waiting"
    HELD = "held"  # URLs that look like traps wait for an operator's decision
    PAGE_CHANGED = "page changed"  # watched pages have changed, after a run
    PAGE_GONE = "page gone"
    PAGE_NEW = "new page"
    LINKS_BROKEN = "links broken"  # links that did not exist, or worked, in the run before
    LINKS_FIXED = "links fixed"
    WEEK = "weekly summary"  # the news of all crawls, or of one
    UNSAFE = "unsafe"  # a pool's state is not safe, or units are missing
