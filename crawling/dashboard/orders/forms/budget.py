"""The questions of a crawl's form about soft limits, and limits on each host."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.dashboard.orders.forms.fields import MIB, number_field, plain, scaled
from crawling.models import CrawlJob
from crawling.orders.sections.budget import MOST_HOSTS

LEVELS = ("soft", "host_soft", "host_max")
#: measure -> the form's, and how many of the order's units it has
MEASURES = {"pages": ("pages", 1), "bytes": ("megabytes", MIB), "seconds": ("minutes", 60)}
#: the order's field -> the form's
NAMES = {
    f"{level}_{measure}": f"{level}_{unit}"
    for level in LEVELS
    for measure, (unit, _) in MEASURES.items()
}
NAMES |= {"domain_max_hosts": "domain_max_hosts"}


class BudgetForm(forms.Form):
    """What stands behind `Soft limits, and limits on each host` on the form."""

    soft_pages = number_field("Pages, softly", "After that no new address is let in.")
    soft_megabytes = number_field("Megabytes, softly", "", mode="decimal")
    soft_minutes = number_field("Minutes, softly", "", mode="decimal")
    host_soft_pages = number_field("Pages a host, softly", "")
    host_soft_megabytes = number_field("Megabytes a host, softly", "", mode="decimal")
    host_soft_minutes = number_field(
        "Minutes a host, softly", "From the host's first page on.", mode="decimal"
    )
    host_max_pages = number_field("Pages a host", "After that nothing more is fetched there.")
    host_max_megabytes = number_field("Megabytes a host", "", mode="decimal")
    host_max_minutes = number_field(
        "Minutes a host", "From the host's first page on.", mode="decimal"
    )
    domain_max_hosts = number_field(
        "Hosts a domain",
        f"Links to further hosts of a domain are not followed. Empty: {MOST_HOSTS}.",
    )

    def budget(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        given = {name: self.cleaned_data.get(mine) for name, mine in NAMES.items()}
        return {
            name: scaled(text, _unit(name)) if _unit(name) > 1 else text
            for name, text in given.items()
            if text
        }

    @property
    def budget_rows(self) -> list[list[forms.BoundField]]:
        """The questions of each level."""
        rows = [[self[f"{level}_{unit}"] for unit, _ in MEASURES.values()] for level in LEVELS]
        return [*rows, [self["domain_max_hosts"]]]


def budget_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    return {
        NAMES[name]: plain(most / _unit(name))
        for name, most in crawl.budget.items()
        if most is not None
    }


def _unit(name: str) -> int:
    return MEASURES.get(name.rpartition("_")[2], ("", 1))[1]
