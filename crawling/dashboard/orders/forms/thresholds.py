"""The questions of a crawl's form about when a run rests or ends by itself, and when somebody is
told.
"""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.dashboard.orders.forms.fields import MIB, number_field, plain, scaled
from crawling.models import CrawlJob
from crawling.orders.sections.thresholds import LEAST_ENDED, ThresholdsPart

AT_THRESHOLD = (
    ("pause", "pause, and go on when somebody resumes it"),
    ("stop", "stop; its pages are kept"),
)
NUMBERS = ("max_error_percent", "error_minutes")


class ThresholdsForm(forms.Form):
    """What stands behind `Thresholds and alerts` on the form."""

    max_error_percent = number_field(
        "Failed URLs, per cent",
        f"Of those of the last minutes, if they are {LEAST_ENDED} or more. Empty: any.",
    )
    error_minutes = number_field(
        "The last minutes", "So many count for the share of failed URLs.", initial="10"
    )
    min_free_megabytes = number_field(
        "Free disk, megabytes",
        "Less on the worker's archive disk is too little. Empty: any.",
        mode="decimal",
    )
    at_threshold = forms.ChoiceField(
        label="Past either of these", required=False, choices=AT_THRESHOLD, initial="pause"
    )
    wait_alert_minutes = number_field(
        "Minutes of waiting", "After so long at the bank an alert is sent. 0: never.", initial="10"
    )

    def thresholds(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        fields: dict[str, Any] = {
            name: answers[name]
            for name in (*NUMBERS, "at_threshold", "wait_alert_minutes")
            if answers.get(name)
        }
        if answers.get("min_free_megabytes"):
            fields["min_free_bytes"] = scaled(answers["min_free_megabytes"], MIB)
        if fields.get("wait_alert_minutes") == "0":
            fields["wait_alert_minutes"] = None
        return fields


def thresholds_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    part = ThresholdsPart(**crawl.thresholds)
    answers = {
        name: "" if (value := getattr(part, name)) is None else plain(value) for name in NUMBERS
    }
    answers["min_free_megabytes"] = (
        "" if part.min_free_bytes is None else plain(part.min_free_bytes / MIB)
    )
    return {
        **answers,
        "at_threshold": part.at_threshold,
        "wait_alert_minutes": plain(part.wait_alert_minutes or 0),
    }
