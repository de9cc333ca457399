"""The questions of a crawl's form about which URLs and documents it wants."""

from __future__ import annotations

from typing import Any

from django import forms

from crawling.dashboard.orders.forms.fields import (
    MIB,
    lines,
    lines_field,
    number_field,
    plain,
    scaled,
)
from crawling.models import CrawlJob

LISTS = ("include", "exclude", "types")
SCHEMES = (("", "http and https"), ("https", "https only"), ("http", "http only"))


class FiltersForm(forms.Form):
    """What stands behind `Filters` on the form."""

    schemes = forms.ChoiceField(label="Schemes", required=False, choices=SCHEMES)
    off_site_hops = number_field("Links outside the scope", "In a row; empty or 0 stays within it.")
    max_document_megabytes = number_field(
        "Megabytes a document", "Of larger ones nothing is kept.", mode="decimal"
    )
    include = lines_field(
        "Only addresses that hold one of these expressions",
        "One regular expression (RE2) a line, like /manual/|/faq/.",
    )
    exclude = lines_field(
        "No addresses that hold one of these expressions",
        "One a line, like \\.zip$ or [?&]print=1. They win over the others.",
    )
    types = lines_field(
        "Only documents of these types",
        "One a line, like text/html or image/*; of others only the answer's head is read.",
    )

    def filters(self) -> dict[str, Any]:
        """The order's fields of this part, unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        fields: dict[str, Any] = {
            name: entries for name in LISTS if (entries := lines(answers.get(name, "")))
        }
        if answers.get("schemes"):
            fields["schemes"] = [answers["schemes"]]
        if answers.get("off_site_hops"):
            fields["off_site_hops"] = answers["off_site_hops"]
        if answers.get("max_document_megabytes"):
            fields["max_document_bytes"] = scaled(answers["max_document_megabytes"], MIB)
        return fields


def filters_answers(crawl: CrawlJob) -> dict[str, Any]:
    """What this part of the form would have been filled in with for a crawl like this one."""
    part = crawl.filters
    answers = {name: "\n".join(part.get(name, ())) for name in LISTS}
    answers |= {"schemes": part["schemes"][0]} if len(part.get("schemes", ())) == 1 else {}
    answers |= {"off_site_hops": str(hops)} if (hops := part.get("off_site_hops")) else {}
    answers |= (
        {"max_document_megabytes": plain(size / MIB)}
        if (size := part.get("max_document_bytes"))
        else {}
    )
    return answers
