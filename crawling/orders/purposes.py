"""Purposes of crawls: the fields of an order and the schedule that each suggests.

Fields in the order take precedence. `crawling.dashboard.run.first_page` decides which page of the
crawl is shown first.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Purpose(StrEnum):
    NONE = ""
    ARCHIVE = "archive"
    DATA = "data"
    LINKS = "links"


#: fields that differ from those in an order without a purpose. No purpose renders pages: an order
#: that renders is refused if no worker has a browser, and a purpose must always be accepted
PRESETS: Mapping[str, Mapping[str, Any]] = {
    Purpose.NONE: {},
    Purpose.ARCHIVE: {"requisites": True, "replay_file": True},
    Purpose.DATA: {},
    Purpose.LINKS: {"check_external": True, "requisites": True},
}
#: all fields that some purpose sets
SET_BY_PURPOSE = frozenset(name for preset in PRESETS.values() for name in preset)
#: cron lines; without one, the crawl is started by hand. Only the form suggests them, since a
#: program that needs a schedule sets one
SCHEDULES: Mapping[str, str] = {Purpose.ARCHIVE: "0 3 1 * *", Purpose.LINKS: "0 3 * * 1"}


def preset_of(purpose: object) -> Mapping[str, Any]:
    """The fields that a purpose sets. Empty for an unknown purpose."""
    return PRESETS.get(purpose, {}) if isinstance(purpose, str) else {}
