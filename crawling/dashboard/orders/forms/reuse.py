"""The questions of a crawl's form about pages that need not be asked for."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.models import CrawlJob


class ReuseForm(forms.Form):
    """What stands behind `More` under `Pages that need not be asked for`."""

    reuse_seconds = forms.CharField(
        label="Seconds that another crawl's page counts as fresh",
        required=False,
        help_text="Within them it is taken from that crawl's archive, and the server is not "
        "asked again. Empty: every page is fetched.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    revisit_days = forms.CharField(
        label="Longest rest of a page that stays the same, in days",
        required=False,
        help_text="A page that earlier runs found unchanged is left alone for as long as it has "
        "been so. Empty: every run asks for it.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    def reuse(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        return {
            name: answer
            for name in ReuseForm.base_fields
            if (answer := self.cleaned_data.get(name))
        }


def reuse_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    return {name: str(crawl.reuse.get(name) or "") for name in ReuseForm.base_fields}
