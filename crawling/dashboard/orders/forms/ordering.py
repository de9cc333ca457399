"""The questions of a crawl's form about how its URLs are weighed against each other."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.models import CrawlJob
from crawling.orders.sections.ordering import OrderingPart

WEIGHTS = {"links_weight": "1", "url_weight": "1"}


def _weight(label: str, help_text: str) -> forms.CharField:
    """Checked as text by the order, which says what is wrong with it."""
    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    return forms.CharField(
        label=label, help_text=help_text, initial="1", required=False, max_length=40, widget=widget
    )


class OrderingForm(forms.Form):
    """What stands behind `Weights, and directories above` on the form."""

    links_weight = _weight(
        "Weight of links", "Best first: of the number of pages known to link to an address."
    )
    url_weight = _weight(
        "Weight of the address", "Best first: of what the lines below say of an address."
    )
    importance = forms.CharField(
        label="Importance of addresses",
        required=False,
        strip=False,
        help_text="One rule a line: a piece of an address or a regular expression (RE2), =, and "
        "a number, like /manual/ = 10. "
        "The numbers of all rules that are found in an address are added up; they may be negative.",
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "autocapitalize": "off"}),
    )
    path_ascending = forms.BooleanField(
        label="Fetch the directories above each address, too",
        required=False,
        help_text="With /a/b/page also /a/b/, /a/ and /, in any order of visits: what nothing "
        "links to may be listed there.",
    )

    def ordering(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        fields: dict[str, Any] = {name: answers[name] for name in WEIGHTS if answers.get(name)}
        rules = [
            line.rpartition("=")
            for line in answers.get("importance", "").splitlines()
            if line.strip()
        ]
        if rules:
            fields["importance"] = {text.strip(): weight.strip() for text, _, weight in rules}
        if answers.get("path_ascending"):
            fields["path_ascending"] = True
        return fields


def ordering_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    part = OrderingPart.model_validate(crawl.ordering)
    return {
        **{name: f"{getattr(part, name):g}" for name in WEIGHTS},
        "importance": "\n".join(f"{text} = {weight:g}" for text, weight in part.importance.items()),
        **({"path_ascending": "on"} if part.path_ascending else {}),
    }
