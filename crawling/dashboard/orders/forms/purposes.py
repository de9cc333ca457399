"""The beginning of the form for a new crawl: the choice of a purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawling.dashboard.orders.forms.fields import fill_in
from crawling.dashboard.orders.forms.schedule import ScheduleForm, schedule_answers
from crawling.orders.order import FIELDS
from crawling.orders.purposes import PRESETS, SCHEDULES, SET_BY_PURPOSE, Purpose
from crawling.orders.schedules import ScheduleTiming


@dataclass(frozen=True)
class PurposeCard:
    purpose: Purpose
    title: str
    icon: str
    sentence: str
    #: the key of the section that is open, in place directly under the start URLs
    opens: str = ""


CARDS = (
    PurposeCard(
        Purpose.ARCHIVE,
        "Archive a site",
        "inbox",
        "Pages with images, styles and scripts, anew every month.",
    ),
    PurposeCard(
        Purpose.DATA,
        "Collect data",
        "braces",
        "Fields of every page by rules, as one table.",
        opens="reading",
    ),
    PurposeCard(
        Purpose.LINKS,
        "Check links",
        "waypoints",
        "Broken links and images, in and out of the site, anew every week.",
    ),
    PurposeCard(Purpose.NONE, "Blank", "square", "Nothing set but the usual."),
)
ASKED = tuple(one for one in FIELDS if one.name in SET_BY_PURPOSE)
USUAL = {one.name: one.default for one in ASKED}


def read_purpose(text: str) -> Purpose:
    return Purpose(text) if text in tuple(Purpose) else Purpose.NONE


def card_of(purpose: str) -> PurposeCard:
    return next(card for card in CARDS if card.purpose == purpose)


def answers_for(purpose: Purpose) -> dict[str, Any]:
    """The answers to an order's questions that a purpose suggests."""
    return {"purpose": purpose.value, **fill_in(ASKED, USUAL | {**PRESETS[purpose]})}


def schedule_for(purpose: str) -> dict[str, Any]:
    """The answers to the questions of a schedule that a purpose suggests."""
    line = SCHEDULES.get(purpose)
    return schedule_answers(ScheduleTiming(cron=line).model_dump()) | ANY_ZONE if line else {}


#: suggests the account's zone
ANY_ZONE = {"time_zone": ""}


def answers_for_purpose(answers: Mapping[str, Any], old: Purpose, new: Purpose) -> dict[str, Any]:
    """The answers with the suggestions of the new purpose. Answers that differ from the old
    purpose's suggestions are kept, since the user has given them.
    """
    suggested, wanted = answers_for(old), answers_for(new)
    changed = {
        one.input
        for one in ASKED
        if _is_yes(answers.get(one.input)) != _is_yes(suggested[one.input])
    }
    taken = {name: value for name, value in wanted.items() if name not in changed}
    return {**answers, **taken}


def schedule_answers_for_purpose(
    form: ScheduleForm, typed: Mapping[str, Any], old: Purpose, new: Purpose
) -> Mapping[str, Any]:
    """The answers about a schedule with the suggestions of the new purpose, by the same rule as
    `answers_for_purpose`. form: the parsed input.
    """
    if not form.is_valid():
        return typed
    given = "" if form.is_never else form.as_timing().get("cron", "interval")
    return schedule_for(new) if given == SCHEDULES.get(old, "") else typed


def _is_yes(answer: Any) -> bool:
    """Whether a box is ticked: it then sends `on`, and otherwise nothing."""
    return answer in (True, "on", "true")
