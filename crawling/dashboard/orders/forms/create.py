"""The form for a new crawl.

It keeps what was typed and words the questions; what is right is settled by `create_crawl`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from allocation.wording import UnitWords
from crawling.crawls.creation import free_name, name_for
from crawling.dashboard.orders.forms.budget import NAMES as BUDGET_NAMES
from crawling.dashboard.orders.forms.budget import BudgetForm, budget_answers
from crawling.dashboard.orders.forms.fetching import TABLES, FetchingForm, fetching_answers
from crawling.dashboard.orders.forms.fields import (
    MIB,
    as_sentence,
    lines,
    number_field,
    plain,
    scaled,
)
from crawling.dashboard.orders.forms.filters import FiltersForm, filters_answers
from crawling.dashboard.orders.forms.ordering import OrderingForm, ordering_answers
from crawling.dashboard.orders.forms.politeness import PolitenessForm, politeness_answers
from crawling.dashboard.orders.forms.reading import ReadingForm, reading_answers
from crawling.dashboard.orders.forms.reuse import ReuseForm, reuse_answers
from crawling.dashboard.orders.forms.thresholds import ThresholdsForm, thresholds_answers
from crawling.models import CrawlJob
from crawling.orders.claims import preset_claims
from crawling.orders.order import MAX_SEEDS
from crawling.orders.ranking import Order
from crawling.orders.seeds import BadTags, read_tags
from crawling.scope.scope import Reach

#: MAX_SEEDS addresses of ordinary length
MAX_FILE_BYTES = MIB
#: an order's field -> the form's, where they differ: people think in other units than programs
FORM_FIELD = {
    "max_bytes": "max_megabytes",
    "max_seconds": "max_minutes",
    "max_document_bytes": "max_document_megabytes",
    "min_free_bytes": "min_free_megabytes",
    **BUDGET_NAMES,
}
#: limits that the order has in another unit, with a number that they may be
EXAMPLES = {"max_megabytes": "500", "max_minutes": "90"}
AS_THEY_ARE = (
    "scope",
    "order",
    "max_pages",
    "max_depth",
    "delay_seconds",
    "processes",
    "batch_size",
    "priority",
    "archive",
)
CLAIM = "claim_"
SCOPES = (
    (Reach.HOST, "the hosts of these addresses"),
    (Reach.PATH, "the directories of these addresses, and what lies below them"),
    (Reach.DOMAIN, "all hosts of these addresses' domains"),
)
ORDERS = (
    (Order.BREADTH_FIRST, "Breadth first: near the start before far from it"),
    (Order.DEPTH_FIRST, "Depth first: the links of the page just read before all others"),
    (Order.BEST_FIRST, "Best first: what most pages link to, and what looks important"),
    (Order.OPIC, "OPIC: pages collect credit from those that link to them, and traps run dry"),
)


ARCHIVE = (("true", "Keep every answer as it came"), ("false", "Keep only what is found"))


class CrawlForm(
    FiltersForm,
    BudgetForm,
    PolitenessForm,
    ReuseForm,
    ReadingForm,
    FetchingForm,
    OrderingForm,
    ThresholdsForm,
):
    """Questions about a crawl, in an operator's words and units."""

    seeds = forms.CharField(
        label="Start at these addresses",
        required=False,
        help_text="One URL a line, written whole, like https://example.org/; at most "
        f"{MAX_SEEDS:,}. Lines that begin with # are left out.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "autocapitalize": "off"}),
    )
    seeds_file = forms.FileField(
        label="…or add them from a text file",
        required=False,
        allow_empty_file=True,
        help_text="One URL a line, at most 1 MB.",
        widget=forms.FileInput(attrs={"accept": ".txt,.csv,text/plain"}),
    )
    name = forms.CharField(
        label="Name",
        required=False,
        help_text="Left empty, it is named after the first address's host.",
    )
    tags = forms.CharField(
        label="Tags",
        required=False,
        max_length=700,
        help_text="Words to find it by in the list, with commas between them.",
    )
    product_token = forms.CharField(
        label="Product token",
        required=False,
        initial="crawlsite",
        help_text="Letters, - and _ only: what site owners write into robots.txt.",
    )
    contact_url = forms.CharField(
        label="Contact",
        required=False,
        help_text="A page about your crawls (https://…) or a mailbox (mailto:…); every request "
        "carries it.",
    )
    scope = forms.ChoiceField(
        label="Follow links to",
        required=False,
        choices=SCOPES,
        help_text="Where one of the addresses redirects to counts as one of them.",
    )
    order = forms.ChoiceField(label="Order of visits", required=False, choices=ORDERS)
    max_pages = number_field("Pages", "Fetched, redirects included.")
    max_depth = number_field("Depth", "Links away from the start; 0 fetches the start only.")
    max_megabytes = number_field("Megabytes", "Of documents, together.", mode="decimal")
    max_minutes = number_field("Minutes", "From the first fetch on.", mode="decimal")
    delay_seconds = number_field(
        "Seconds between two fetches from a host",
        "A site whose robots.txt asks for more gets more.",
        initial="1",
        mode="decimal",
    )
    processes = number_field(
        "Parallel workers",
        "They share the hosts out among them; more than one gains nothing on one host.",
        initial="1",
    )
    preset = forms.ChoiceField(label="Claim by", initial="normal", widget=forms.RadioSelect)
    priority = number_field(
        "Priority at the bank",
        "-10 to 10: each step lets its starts go a minute ahead of others; 10 is urgent, and "
        "may use what is reserved.",
        initial="0",
        mode="text",
    )
    archive = forms.ChoiceField(
        label="Archive",
        required=False,
        choices=ARCHIVE,
        help_text="In WARC files, which other tools read, too; pages can be viewed as they were.",
    )
    batch_size = number_field(
        "URLs a host hands out at a time",
        "1 keeps the order of visits exact; more is faster.",
        initial="100",
    )

    def __init__(self, *args: Any, capacity: Mapping[str, int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.capacity, self.presets = capacity, preset_claims(capacity)
        preset = self.fields["preset"]
        assert isinstance(preset, forms.ChoiceField)
        preset.choices = [
            (name, f"{name}: {_format_claim(claim)}") for name, claim in self.presets.items()
        ]
        for key, units in capacity.items():
            sizes = ", ".join(f"{name} {claim[key]:,}" for name, claim in self.presets.items())
            self.fields[f"{CLAIM}{key}"] = number_field(
                f"Max {UnitWords(key, '').name}", f"Empty: {sizes}; the pool has {units:,}."
            )

    def clean_seeds_file(self) -> list[str]:
        """The file's lines."""
        file: UploadedFile | None = self.cleaned_data.get("seeds_file")
        if file is None:
            return []
        if (file.size or 0) > MAX_FILE_BYTES:
            raise forms.ValidationError(
                "This file is larger than 1 MB; split it over several crawls."
            )
        try:
            return lines(file.read().decode("utf-8-sig"))
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
        """From the box and the file, in this order."""
        return [
            *lines(self.cleaned_data.get("seeds", "")),
            *self.cleaned_data.get("seeds_file", []),
        ]

    def as_order(self) -> dict[str, Any]:
        """The order's fields, unchecked; what was left empty is left out."""
        answers = self.cleaned_data
        seeds = self.all_seeds()
        fields: dict[str, Any] = {"seeds": seeds, "name": answers.get("name") or name_for(seeds)}
        fields |= {name: answers[name] for name in AS_THEY_ARE if answers.get(name)}
        fields |= {
            name: scaled(answers[mine], by) for name, mine, by in SCALES if answers.get(mine)
        }
        for part in (
            self.reading,
            self.filters,
            self.budget,
            self.politeness,
            self.fetching,
            self.ordering,
            self.reuse,
            self.thresholds,
        ):
            fields |= part()
        own = {
            key: answers[f"{CLAIM}{key}"] for key in self.capacity if answers.get(f"{CLAIM}{key}")
        }
        fields["claim"] = {**self.presets.get(answers.get("preset", ""), {}), **own}
        return fields

    def blame(self, errors: Mapping[str, str]) -> None:
        """Put each of an order's mistakes beside the field that it is about; lines of a file go
        into the box, where they can be mended.
        """
        for key, message in errors.items():
            field = _form_field(key)
            self.add_error(
                field if field in self.fields else None,
                self._no_number(field) or as_sentence(message),
            )
        self.keep_lines()

    def _no_number(self, field: str) -> str:
        """What to say of a limit in the form's own unit that is no number; the order would speak of
        its own unit. Empty: it is one.
        """
        example = EXAMPLES.get(field)
        if example is None or isinstance(scaled(self.cleaned_data.get(field, ""), 1), int):
            return ""
        return (
            f"{self.fields[field].label} must be a number, like {example}; leave the field empty "
            "for no limit."
        )

    def in_words(self, errors: Mapping[str, str]) -> dict[str, str]:
        """An order's mistakes by the form's own words for the fields."""
        return {
            str(self.fields[field].label)
            if (field := _form_field(key)) in self.fields
            else key: text
            for key, text in errors.items()
        }

    def keep_lines(self) -> None:
        """A browser does not send a chosen file twice: its lines move into the box."""
        from_file = self.cleaned_data.get("seeds_file")
        if from_file:
            self.data = {
                **self.answers,
                "seeds": "\n".join([*lines(self.data.get("seeds", "")), *from_file]),
            }

    @property
    def answers(self) -> dict[str, Any]:
        """As typed, by field."""
        return {name: self.data.get(name, "") for name in self.fields}


SCALES = (("max_bytes", "max_megabytes", MIB), ("max_seconds", "max_minutes", 60))


def as_answers(crawl: CrawlJob, capacity: Mapping[str, int]) -> dict[str, Any]:
    """What the form would have been filled in with for a crawl like this one, under a free name."""
    chosen = next(
        (name for name, claim in preset_claims(capacity).items() if claim == crawl.claim), None
    )
    answers = {
        name: "" if (value := getattr(crawl, name)) is None else plain(value)
        for name in AS_THEY_ARE[2:]
    }
    answers |= {
        mine: plain(getattr(crawl, name) / by)
        for name, mine, by in SCALES
        if getattr(crawl, name) is not None
    }
    answers |= {} if chosen else {f"{CLAIM}{key}": str(units) for key, units in crawl.claim.items()}
    return {
        **answers,
        **reading_answers(crawl),
        **fetching_answers(crawl),
        **ordering_answers(crawl),
        **filters_answers(crawl),
        **budget_answers(crawl),
        **politeness_answers(crawl),
        **reuse_answers(crawl),
        **thresholds_answers(crawl),
        "name": free_name(crawl.name),
        "tags": ", ".join(crawl.tags),
        "seeds": "\n".join(crawl.seeds),
        "scope": crawl.scope,
        "order": crawl.visit_order,
        "preset": chosen or "normal",
    }


def _form_field(key: str) -> str:
    if (table := key.partition(".")[0]) in (
        "extract",
        "importance",
        "schemes",
        "include",
        "exclude",
        "types",
        *TABLES,
    ):
        return table
    return (
        f"{CLAIM}{key.removeprefix('claim.')}"
        if key.startswith("claim.")
        else FORM_FIELD.get(key, key)
    )


def _format_claim(claim: Mapping[str, int]) -> str:
    slots, rate = claim.get("fetch_slots", 0), claim.get("bandwidth", 0)
    speed = f"{rate / 1024:,.0f} MB/s" if rate >= 1024 else f"{rate:,} kB/s"
    return f"up to {slots:,} fetch{'es' if slots != 1 else ''} at a time and {speed}"
