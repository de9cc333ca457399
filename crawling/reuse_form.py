"""The question of a crawl's form about pages that other crawls have fetched."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.models import CrawlJob


class ReuseForm(forms.Form):
    """What stands behind `More` under `What others have fetched`."""

    reuse_seconds = forms.CharField(
        label="Seconds that another crawl's page counts as fresh",
        required=False,
        help_text="Within them it is taken from that crawl's archive, and the server is not asked again. Empty: every page is fetched.",
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )

    def reuse(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        seconds = self.cleaned_data.get("reuse_seconds")
        return {"reuse_seconds": seconds} if seconds else {}


def reuse_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    return {"reuse_seconds": str(crawl.reuse.get("reuse_seconds") or "")}
