"""The folded sections of a crawl's form. Each shows its settings in one line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from pydantic import BaseModel

from crawling.orders.fields import fields_of
from crawling.orders.order import FIELDS
from crawling.orders.sections.budget import BudgetPart
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.sections.ordering import OrderingPart
from crawling.orders.sections.politeness import PolitenessPart
from crawling.orders.sections.rendering import RenderingPart
from crawling.orders.sections.thresholds import ThresholdsPart

LONGEST = 40
CLAIM = "claim_"
#: the width of a field that is alone in its row
ALONE = "alone"
QUESTIONS = {one.input: one.question for one in FIELDS}


@dataclass(frozen=True)
class FormSection:
    key: str
    title: str
    #: the summary while no field is set
    usual: str
    #: the form's fields; fields with names that begin with `prefix` also belong to the section
    names: Sequence[str]
    prefix: str = " "
    #: a template with a sentence above the questions
    note: str = ""
    #: a field, and the template that is shown below the field
    below: tuple[str, str] = ("", "")


def _inputs(part: type[BaseModel]) -> tuple[str, ...]:
    return tuple(one.input for one in fields_of(part))


SECTIONS = (
    FormSection(
        "filters",
        "Filters",
        "None: all URLs in the scope. External links are not checked.",
        _inputs(FiltersPart),
        note="crawling/sections/_filters.html",
    ),
    FormSection("budget", "Limits on each host, and soft limits", "None.", _inputs(BudgetPart)),
    FormSection(
        "thresholds",
        "Stop conditions and alerts",
        "Stop conditions: none; alerts after 10 minutes of waiting.",
        _inputs(ThresholdsPart),
    ),
    FormSection(
        "ordering",
        "Order of visits",
        "Breadth first: near the start URLs before far from them.",
        ("order", *_inputs(OrderingPart)),
    ),
    FormSection(
        "politeness",
        "More politeness",
        "Adaptive delay: 1.0 × response time.",
        _inputs(PolitenessPart),
    ),
    FormSection(
        "claims",
        "Resource limits and priority",
        "As chosen above; no priority.",
        ("batch_size", "priority", "idle_only", "pool", "team"),
        CLAIM,
    ),
    FormSection(
        "fetching",
        "Requests and log-in",
        "No cookies, log-in, proxy or own headers; timeouts of 5 s and more.",
        _inputs(FetchingPart),
        note="crawling/sections/_fetching.html",
    ),
    FormSection(
        "reading",
        "Content and archive",
        "All links are followed; every answer is stored.",
        # the fields that can be edited precede the others
        ("extractor", "extract", "archive", "obey_nofollow"),
        below=("extract", "crawling/sections/_save_extractor.html"),
    ),
    FormSection(
        "rendering",
        "Pages that need a browser",
        "Never: pages are read as the server sends them.",
        _inputs(RenderingPart),
    ),
    FormSection(
        "reuse",
        "Reuse and revisits",
        "Every run requests every page.",
        # the fields that can be edited precede the others
        (
            *("revisit_days", "visits_a_day", "visit_policy", "reuse_seconds", "deduplicate"),
            "replay_file",
        ),
    ),
)


@dataclass(frozen=True)
class FieldRow:
    #: the class of the page's style
    width: str
    #: a sentence above the fields
    above: str
    fields: list[forms.BoundField]
    #: the template that is shown below the fields; empty if there is none
    below: str = ""


@dataclass(frozen=True)
class FoldedSection:
    section: FormSection
    fields: Sequence[forms.BoundField]
    #: whether the section was open when the user sent the form
    was_open: bool = False

    @property
    def rows(self) -> list[FieldRow]:
        """The rows of fields. Adjacent fields of one width share a row, until a question starts a
        new row.
        """
        rows: list[FieldRow] = []
        for field in self.fields:
            width, question = _width(field), QUESTIONS.get(field.name)
            above = question.above if question else None
            if rows and width == rows[-1].width != ALONE and above is None:
                rows[-1].fields.append(field)
            else:
                name, template = self.section.below
                below = template if field.name == name else ""
                rows.append(FieldRow(width, above or "", [field], below))
        return rows

    @property
    def told(self) -> str:
        """The answers that are not defaults, question by question; empty if all are."""
        return "; ".join(filter(None, map(_describe_field, self.fields)))

    @property
    def is_open(self) -> bool:
        """Whether the section is open. A section with a mistake is open, so that the mistake is
        seen.
        """
        return self.was_open or any(field.errors for field in self.fields)


def sections_of(form: forms.Form, *, unfolded: Collection[str] = ()) -> dict[str, FoldedSection]:
    """The sections whose first question is in the form, by key. unfolded: the keys of the open
    ones.
    """
    return {
        section.key: FoldedSection(
            section,
            [
                *(form[name] for name in section.names if name in form.fields),
                *(form[name] for name in form.fields if name.startswith(section.prefix)),
            ],
            section.key in unfolded,
        )
        for section in SECTIONS
        if section.names[0] in form.fields
    }


def _describe_field(field: forms.BoundField) -> str:
    """Label and answer, if it is not the default.

    For a long field, and for one that may contain secrets, the answer is only the number of lines.
    """
    value = field.value()
    if value in (None, "", False) or str(value) == str(field.field.initial):
        return ""
    if isinstance(field.field, forms.BooleanField):
        return str(field.label)
    if isinstance(field.field, forms.ChoiceField):
        words = dict(_choices(field)).get(str(value), value)
        return f"{field.label}: {str(words).partition(':')[0]}"
    if isinstance(field.field.widget, forms.Textarea):
        count = len([line for line in str(value).splitlines() if line.strip()])
        return f"{field.label}: {count:,} line{'s' * (count != 1)}" if count else ""
    return f"{field.label}: {_shortened(str(value))}"


def _shortened(text: str) -> str:
    """A number with at most two decimals, or a text that is cut."""
    try:
        return f"{float(text):,.2f}".removesuffix(".00")
    except ValueError:
        return text[:LONGEST]


def _width(field: forms.BoundField) -> str:
    """The width of a field in its row: four short answers, two lines of text, or one check box
    share a row.
    """
    if isinstance(field.field, forms.BooleanField):
        return ALONE
    is_short = "inputmode" in field.field.widget.attrs or isinstance(field.field, forms.ChoiceField)
    return "four" if is_short else "pair"


def _choices(field: forms.BoundField) -> list[tuple[str, str]]:
    """The choices of a field. Our choices are plain pairs; those of a form may also be groups or
    callables.
    """
    return list(cast("Any", field.field).choices)
