"""The questions of a crawl's form about what hosts and the line are spared."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.models import CrawlJob
from crawling.orders.sections.politeness import Politeness


def _number(
    label: str, help_text: str, *, initial: str = "", mode: str = "numeric"
) -> forms.CharField:
    widget = forms.TextInput(attrs={"inputmode": mode, "autocomplete": "off"})
    return forms.CharField(
        label=label,
        help_text=help_text,
        initial=initial,
        required=False,
        max_length=40,
        widget=widget,
    )


class PolitenessForm(forms.Form):
    """What stands behind `More about politeness` on the form.

    Numbers are checked as text by the order, which says what is wrong.
    """

    delay_factor = _number(
        "Rest, in times of what the last answer took",
        "Where that is longer than the delay above; at most 30 s. 0: the delay alone counts.",
        initial="1",
        mode="decimal",
    )
    address_delay_seconds = _number(
        "Seconds between requests to an address",
        "Hosts that one server's address serves take turns, in all crawls; never more than the "
        "delay above. 0: each host by itself.",
        initial="0.25",
        mode="decimal",
    )
    host_requests_a_minute = _number(
        "Requests to a host in a minute", "Those of other crawls count, too. Empty: no limit."
    )
    host_requests_a_day = _number(
        "Requests to a host in a day", "By UTC; those of other crawls count, too. Empty: no limit."
    )
    host_patience_seconds = _number(
        "Seconds to wait for a host that cannot be reached",
        "Its URLs wait so long, an hour at most if it has never answered; then they fail. A day "
        "is 86400.",
        initial="86400",
        mode="decimal",
    )
    max_kib_a_second = _number(
        "KiB a second, at most",
        "All of the crawl's workers together, within what the bank grants them.",
    )

    def politeness(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        return {
            name: self.cleaned_data[name]
            for name in Politeness.model_fields
            if self.cleaned_data.get(name)
        }


def politeness_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    given = Politeness(**crawl.politeness).model_dump()
    return {
        name: "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in given.items()
    }
