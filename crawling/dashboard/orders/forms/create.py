"""The form for a new crawl, and the form that edits a crawl's rules at any time. The forms keep the
input and have the words of the questions. `create_crawl` and `edit_crawl` decide which answers are
valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from allocation.wording import UnitWords
from crawling.dashboard.orders.forms.fields import (
    OrderForm,
    fill_in,
    lines_field,
    number_field,
    typed_entries,
)
from crawling.dashboard.orders.forms.purposes import USUAL
from crawling.dashboard.orders.forms.sections import CLAIM
from crawling.models import CrawlJob
from crawling.orders.claims import OF_BROWSERS, preset_claims
from crawling.orders.fields import MIB
from crawling.orders.order import FIELDS, MAX_SEEDS
from crawling.orders.seeds import BadTags, read_seeds, read_tags
from crawling.runs.crawls.creation import free_name, name_from_seeds, order_of
from crawling.runs.crawls.extractor_rules import own_rules_of_crawl
from crawling.runs.crawls.revisions import EDITED_PARTS, FETCHING_FIELDS, OF_THE_CRAWL

#: enough for MAX_SEEDS addresses of usual length
MAX_FILE_BYTES = MIB
BANDWIDTH = UnitWords("bandwidth", "KiB/s")
#: seeds, name and Max have separate questions
ASKED_OF_NEW = tuple(one for one in FIELDS if one.question.label)
EDITED = ("filters", "budget", "thresholds", "politeness", "rendering", "reuse")
#: the fields of an order in the form. Weights are not among them: the command line and the API edit
#: these. Nor is a team: a hand-over changes it
ASKED = tuple(
    one
    for one in ASKED_OF_NEW
    if one.name in {*OF_THE_CRAWL, *FETCHING_FIELDS} - {"team"}
    or any(one.name in EDITED_PARTS[part] for part in EDITED)
)


class CrawlForm(OrderForm):
    seeds = forms.CharField(
        label="Start URLs",
        required=False,
        help_text="One per line, like example.org or https://example.org/news/; at most "
        f"{MAX_SEEDS:,}. Lines that begin with # are ignored.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocapitalize": "off"}),
    )
    seeds_file = forms.FileField(
        label="Text file of URLs",
        required=False,
        allow_empty_file=True,
        help_text="One URL per line, at most 1 MB.",
        widget=forms.FileInput(attrs={"accept": ".txt,.csv,text/plain"}),
    )
    name = forms.CharField(
        label="Name",
        required=False,
        help_text="Empty: the host of the first start URL.",
    )
    tags = forms.CharField(
        label="Tags",
        required=False,
        max_length=700,
        help_text="Words for filters, separated by commas.",
    )
    product_token = forms.CharField(
        label="Crawler name",
        required=False,
        initial="crawlsite",
        help_text="Letters, - and _ only; site owners use it in robots.txt.",
    )
    contact_url = forms.CharField(
        label="Contact",
        required=False,
        help_text="A page about your crawls (https://…) or an e-mail address; every request "
        "carries it.",
    )
    preset = forms.ChoiceField(label="Claim by", initial="normal", widget=forms.RadioSelect)

    def __init__(self, *args: Any, capacity: Mapping[str, int], **kwargs: Any) -> None:
        super().__init__(*args, asked=ASKED_OF_NEW, **kwargs)
        self.capacity, self.presets = capacity, preset_claims(capacity)
        preset = self.fields["preset"]
        assert isinstance(preset, forms.ChoiceField)
        preset.choices = [
            (name, f"{name}: {format_claim(claim)}") for name, claim in self.presets.items()
        ]
        for key, units in capacity.items():
            if key in OF_BROWSERS and not units:
                continue  # no order can claim any
            sizes = ", ".join(f"{name} {claim[key]:,}" for name, claim in self.presets.items())
            usual = "what a browser has, if pages are rendered" if key in OF_BROWSERS else sizes
            self.fields[f"{CLAIM}{key}"] = number_field(
                label=f"Max {UnitWords(key, '').name}",
                help_text=f"Empty: {usual}; the pool has {units:,}.",
            )

    def clean_seeds_file(self) -> list[str]:
        file: UploadedFile | None = self.cleaned_data.get("seeds_file")
        if file is None:
            return []
        if (file.size or 0) > MAX_FILE_BYTES:
            raise forms.ValidationError(
                "This file is larger than 1 MB; split it over several crawls."
            )
        try:
            return typed_entries(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise forms.ValidationError(
                "This file is not text in UTF-8; save it as plain text, one URL a line."
            ) from error

    def clean_tags(self) -> list[str]:
        try:
            return read_tags(self.cleaned_data["tags"])
        except BadTags as error:
            raise forms.ValidationError(str(error)) from error

    def all_seeds(self) -> list[str]:
        """The seeds in the text box, followed by those in the file."""
        return [
            *typed_entries(self.cleaned_data.get("seeds", "")),
            *self.cleaned_data.get("seeds_file", []),
        ]

    def canonical_seeds(self) -> list[str]:
        """The seeds that are addresses, in canonical form."""
        return [address.url for address in read_seeds(self.all_seeds())[0]]

    def as_order(self) -> dict[str, Any]:
        """The order's fields, unchecked. Empty fields are left out."""
        answers = self.cleaned_data
        seeds = self.all_seeds()
        # unticked boxes are explicit answers; a purpose sets only missing fields
        fields = {**USUAL, **self.order_answers()}
        fields |= {"seeds": seeds, "name": answers.get("name") or name_from_seeds(seeds)}
        own = {
            key: answers[f"{CLAIM}{key}"] for key in self.capacity if answers.get(f"{CLAIM}{key}")
        }
        fields["claim"] = {**self.presets.get(answers.get("preset", ""), {}), **own}
        return fields

    def blame(self, errors: Mapping[str, str]) -> None:
        """Put the mistakes beside their fields. The lines of a file move into the text box, where
        they can be corrected.
        """
        super().blame(errors)
        self.keep_lines()

    def input_of(self, key: str) -> str:
        name, _, entry = key.partition(".")
        return f"{CLAIM}{entry}" if name == "claim" else super().input_of(key)

    def in_words(self, errors: Mapping[str, str]) -> dict[str, str]:
        """An order's mistakes, by the names of the form's fields and in the form's words."""
        return {
            str(self.fields[field].label)
            if (field := self.input_of(key)) in self.fields
            else key: text
            for key, text in errors.items()
        }

    def keep_lines(self) -> None:
        """Move the lines of a chosen file into the text box, since a browser does not send the file
        twice.
        """
        from_file = self.cleaned_data.get("seeds_file")
        if from_file:
            seeds = "\n".join([*typed_entries(self.data.get("seeds", "")), *from_file])
            self.data = {**self.answers, "seeds": seeds}
            self.cleaned_data |= {"seeds": seeds, "seeds_file": []}

    @property
    def answers(self) -> dict[str, Any]:
        return {name: self.data.get(name, "") for name in self.fields}


def as_answers(crawl: CrawlJob, capacity: Mapping[str, int]) -> dict[str, Any]:
    """The form's contents for a crawl like this one, with a free name."""
    chosen = next(
        (name for name, claim in preset_claims(capacity).items() if claim == crawl.claim), None
    )
    claim = {} if chosen else {f"{CLAIM}{key}": str(units) for key, units in crawl.claim.items()}
    return {
        **fill_in(ASKED_OF_NEW, {**order_of(crawl), "extract": own_rules_of_crawl(crawl)}),
        **claim,
        "name": free_name(crawl.name),
        "tags": ", ".join(crawl.tags),
        "seeds": "\n".join(crawl.seeds),
        "preset": chosen or "normal",
    }


def format_claim(claim: Mapping[str, int]) -> str:
    slots, speed = claim.get("fetch_slots", 0), BANDWIDTH.number(claim.get("bandwidth", 0))
    return f"{slots:,} connection{'s' * (slots != 1)}, {speed}"


class EditForm(OrderForm):
    """The questions about an existing crawl.

    `urls` has addresses for a test of the rules, and is no part of the order.
    """

    urls = lines_field(
        "Addresses to test",
        "One a line, at most 500. Nothing is fetched, and nothing is saved.",
        rows=4,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, asked=ASKED, **kwargs)

    def as_changes(self) -> dict[str, Any]:
        """All fields of the form, unchecked. Empty fields get their defaults."""
        return {one.name: one.default for one in self.asked} | self.order_answers()


def edit_answers(crawl: CrawlJob) -> dict[str, Any]:
    return fill_in(ASKED, {**order_of(crawl), "extract": own_rules_of_crawl(crawl)}, masked=True)
