"""The questions of a crawl's form about how pages are read."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.models import CrawlJob

FLAGS = ("obey_nofollow", "requisites")


class ReadingForm(forms.Form):
    """What stands behind `More` on the form."""

    obey_nofollow = forms.BooleanField(
        label="Leave links alone that are marked nofollow",
        required=False,
        help_text="And all links of pages that are marked so.",
    )
    requisites = forms.BooleanField(
        label="Fetch what pages are shown with, too",
        required=False,
        help_text="Images, sheets, scripts, sound and film within the scope.",
    )
    extract = forms.CharField(
        label="Take out of every page",
        required=False,
        strip=False,
        help_text="One rule a line: a name, =, and a CSS selector, like price = span.price or "
        "picture = img::attr(src).",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocapitalize": "off"}),
    )

    def reading(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        fields: dict[str, Any] = {name: True for name in FLAGS if answers.get(name)}
        rules = [
            line.partition("=") for line in answers.get("extract", "").splitlines() if line.strip()
        ]
        if rules:
            fields["extract"] = {name.strip(): selector.strip() for name, _, selector in rules}
        return fields


def reading_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    flags = {name: "on" for name in FLAGS if getattr(crawl, name)}
    return {
        **flags,
        "extract": "\n".join(f"{name} = {selector}" for name, selector in crawl.extract.items()),
    }
