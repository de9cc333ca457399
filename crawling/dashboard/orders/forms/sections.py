"""The sections of a crawl's form that are folded: each says in a line what is set in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms

from crawling.dashboard.orders.forms.budget import BudgetForm
from crawling.dashboard.orders.forms.fetching import FetchingForm
from crawling.dashboard.orders.forms.filters import FiltersForm
from crawling.dashboard.orders.forms.ordering import OrderingForm
from crawling.dashboard.orders.forms.politeness import PolitenessForm
from crawling.dashboard.orders.forms.reading import ReadingForm
from crawling.dashboard.orders.forms.reuse import ReuseForm
from crawling.dashboard.orders.forms.thresholds import ThresholdsForm

LONGEST = 40
CLAIM = "claim_"


@dataclass(frozen=True)
class FormSection:
    """`usual` says what holds while nothing is set; `names` and all that begin with `prefix` are
    its questions.
    """

    key: str
    title: str
    usual: str
    names: Sequence[str]
    prefix: str = " "


SECTIONS = (
    FormSection(
        "filters",
        "What to leave out",
        "Nothing that the scope lets in.",
        tuple(FiltersForm.base_fields),
    ),
    FormSection(
        "budget", "Limits on each host, and soft limits", "None.", tuple(BudgetForm.base_fields)
    ),
    FormSection(
        "thresholds",
        "Thresholds and alerts",
        "Goes on whatever fails; alerts after 10 minutes of waiting.",
        tuple(ThresholdsForm.base_fields),
    ),
    FormSection(
        "ordering",
        "Order of visits",
        "Breadth first: near the start before far from it.",
        ("order", *OrderingForm.base_fields),
    ),
    FormSection(
        "politeness",
        "More politeness",
        "A slow host rests as long as its last answer took.",
        tuple(PolitenessForm.base_fields),
    ),
    FormSection(
        "claims",
        "Max per class, and priority",
        "As the choice above says; no priority.",
        ("batch_size", "priority"),
        CLAIM,
    ),
    FormSection(
        "fetching",
        "How it asks",
        "Without cookies, log-in, proxy or headers of its own; waits 5 s at most.",
        tuple(FetchingForm.base_fields),
    ),
    FormSection(
        "reading",
        "What is read and kept",
        "All links are followed; every answer is archived.",
        ("archive", *ReadingForm.base_fields),
    ),
    FormSection(
        "reuse",
        "Pages that need not be asked for",
        "Every page is asked for in every run.",
        tuple(ReuseForm.base_fields),
    ),
)


@dataclass(frozen=True)
class FoldedSection:
    """A section of one form."""

    section: FormSection
    fields: Sequence[forms.BoundField]

    @property
    def template(self) -> str:
        return f"crawling/sections/_{self.section.key}.html"

    @property
    def told(self) -> str:
        """What is set, question by question; empty: all is as usual."""
        return "; ".join(filter(None, map(_describe_field, self.fields)))

    @property
    def is_open(self) -> bool:
        """What is wrong must be seen."""
        return any(field.errors for field in self.fields)


def sections_of(form: forms.Form) -> dict[str, FoldedSection]:
    """The sections of which the form has questions, by key."""
    folded = {}
    for section in SECTIONS:
        fields = [
            form[name]
            for name in form.fields
            if name in section.names or name.startswith(section.prefix)
        ]
        if fields:
            folded[section.key] = FoldedSection(section, fields)
    return folded


def _describe_field(field: forms.BoundField) -> str:
    """Label and answer, where that is not the usual one.

    What may hold secrets or is long is counted by its lines.
    """
    value = field.value()
    if value in (None, "", False) or str(value) == str(_usual(field)):
        return ""
    if isinstance(field.field, forms.BooleanField):
        return str(field.label)
    if isinstance(field.field, forms.ChoiceField):
        words = dict(_choices(field)).get(str(value), value)
        return f"{field.label}: {str(words).partition(':')[0]}"
    if isinstance(field.field.widget, forms.Textarea):
        count = len([line for line in str(value).splitlines() if line.strip()])
        return f"{field.label}: {count:,} line{'s' * (count != 1)}" if count else ""
    return f"{field.label}: {_short(str(value))}"


def _short(text: str) -> str:
    """A number with two decimals at most; other text cut off."""
    try:
        return f"{float(text):,.2f}".removesuffix(".00")
    except ValueError:
        return text[:LONGEST]


def _usual(field: forms.BoundField) -> object:
    """The answer that stands there before anybody has answered."""
    if isinstance(field.field, forms.ChoiceField) and field.field.initial is None:
        return _choices(field)[0][0]
    return field.field.initial


def _choices(field: forms.BoundField) -> list[tuple[str, str]]:
    """Ours are plain pairs; a form's may be groups or callables as well."""
    return list(cast("Any", field.field).choices)
