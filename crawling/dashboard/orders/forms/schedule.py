"""The form for a schedule: in words, by an interval or by a cron line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import time
from functools import cache
from itertools import groupby
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from crawling.dashboard.orders.forms.fields import PLAIN, number_field
from crawling.orders.schedule_words import (
    LAST_DAY,
    WEEKDAYS,
    Repeat,
    ScheduleWords,
    ordinal_number,
    read_words,
)
from crawling.orders.schedules import CatchUp, zones

#: the values of the choice between no schedule, an interval and a cron line
NEVER, INTERVAL, CRON = "", "interval", "cron"
REPEATS = (
    (NEVER, "No schedule"),
    (Repeat.DAY, "Every day"),
    (Repeat.WEEK, "Every week"),
    (Repeat.MONTH, "Every month"),
    (INTERVAL, "Interval"),
    (CRON, "Cron line"),
)
DAYS = (*((str(day), ordinal_number(day)) for day in range(1, 32)), (LAST_DAY, "last day"))
CATCH_UP = ((CatchUp.ONCE, "run once"), (CatchUp.SKIP, "wait for the next start"))
USUAL_TIME = time(3)
#: the regions of zones; other names are older aliases
REGIONS = frozenset(
    {
        *("Africa", "America", "Antarctica", "Arctic", "Asia"),
        *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
    }
)
#: fields that every schedule has
COMMON = ("catch_up", "time_zone")


class ZoneSelect(forms.Select):
    """A choice of all time zones by region. A user finds a city by typing the beginning of its
    name. The chosen zone, the account's zone and UTC come first.
    """

    def render(
        self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None
    ) -> SafeString:
        own = timezone.get_current_timezone_name()
        chosen = str(value or own)
        first = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            (
                (zone, SafeString(" selected") if zone == chosen else "", zone)
                for zone in dict.fromkeys((own, chosen, "UTC"))
            ),
        )
        given = self.build_attrs(self.attrs, {**(attrs or {}), "name": name})
        told = format_html_join("", ' {}="{}"', given.items())
        return format_html("<select{}>{}{}</select>", told, first, _zones_by_region())


@cache
def _zones_by_region() -> SafeString:
    """The HTML of a choice of time zones. A widget's template for each of 440 zones would take as
    long as the rest of the page.
    """
    names = sorted(name for name in zones() if name.partition("/")[0] in REGIONS)
    groups = (
        (region, [(name, name.partition("/")[2].replace("_", " ")) for name in group])
        for region, group in groupby(names, key=lambda name: name.partition("/")[0])
    )
    return format_html_join(
        "",
        '<optgroup label="{}">{}</optgroup>',
        (
            (region, format_html_join("", '<option value="{}">{}</option>', group))
            for region, group in groups
        ),
    )


class ScheduleForm(forms.Form):
    """The questions about a schedule. `set_schedule` decides which answers are valid."""

    repeat = forms.ChoiceField(
        label="Repeat", required=False, choices=REPEATS, initial=NEVER, widget=forms.RadioSelect
    )
    weekdays = forms.MultipleChoiceField(
        label="On",
        required=False,
        choices=[(str(number), name) for number, name in enumerate(WEEKDAYS, start=1)],
        initial=["1"],
        widget=forms.CheckboxSelectMultiple,
    )
    day = forms.ChoiceField(
        label="On the",
        required=False,
        choices=DAYS,
        initial="1",
        help_text="Months without this day are skipped.",
    )
    at = forms.TimeField(
        label="At",
        required=False,
        initial=USUAL_TIME,
        input_formats=("%H:%M", "%H:%M:%S"),
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        error_messages={"invalid": "Must be a time of the day, like 03:00."},
    )
    every_minutes = number_field(
        label="Interval, in minutes", help_text="1440 = 24 h, ignores daylight saving."
    )
    fastest_minutes = number_field(
        label="Shortest interval, in minutes",
        help_text="Empty: always the same. Otherwise it is halved after a run with 5 % of pages "
        "changed or more, and doubled after one without changes.",
    )
    cron = forms.CharField(
        label="Cron line",
        required=False,
        help_text="Minute, hour, day, month, weekday: 30 2 * * 1-5.",
        widget=forms.TextInput(attrs=PLAIN),
    )
    time_zone = forms.CharField(label="Time zone", required=False, widget=ZoneSelect)
    catch_up = forms.ChoiceField(
        label="After downtime",
        required=False,
        choices=CATCH_UP,
        help_text="If a start was missed by 5 minutes or more.",
    )
    is_on = forms.BooleanField(label="Enabled", required=False, initial=True)

    @property
    def is_never(self) -> bool:
        """Whether the answers ask for no schedule."""
        return not self.cleaned_data.get("repeat")

    def clean(self) -> None:
        answers = self.cleaned_data
        repeat = answers.get("repeat")
        if repeat == Repeat.WEEK and not answers.get("weekdays"):
            self.add_error("weekdays", "Choose one day or more.")
        if repeat in tuple(Repeat) and "at" in answers and answers["at"] is None:
            self.add_error("at", "Choose a time of the day.")

    def as_timing(self) -> dict[str, Any]:
        """The unchecked fields of a schedule, from a valid form."""
        answers = self.cleaned_data
        fields = {name: answers[name] for name in COMMON if answers.get(name)}
        fields["is_on"] = answers["is_on"]
        match answers["repeat"]:
            case "interval":
                asked = ("every_minutes", "fastest_minutes")
                return fields | {name: answers[name] for name in asked if answers[name]}
            case "cron":
                return {**fields, "cron": answers["cron"]}
        words = ScheduleWords(
            Repeat(answers["repeat"]),
            answers["at"],
            tuple(sorted(map(int, answers["weekdays"]))),
            answers["day"] or "1",
        )
        return {**fields, "cron": words.cron}


def schedule_answers(timing: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of the form for a stored schedule."""
    answers = {name: value for name, value in timing.items() if value is not None}
    if timing.get("every_minutes") is not None:
        return {**answers, "repeat": INTERVAL}
    return {**answers, **dict(_cron_answers(timing.get("cron", "")))}


def _cron_answers(line: str) -> Iterator[tuple[str, Any]]:
    """The cron line in words, if words can have the same meaning. The line itself stands beside
    them, for users who know cron.
    """
    words = read_words(line) if line else None
    if words is None:
        yield "repeat", CRON
        return
    yield "repeat", words.repeat.value
    yield "at", words.at
    if words.weekdays:
        yield "weekdays", [str(day) for day in words.weekdays]
    if words.day:
        yield "day", words.day
