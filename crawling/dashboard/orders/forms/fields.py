"""The fields of an order on a form. They are made from their questions, read into an order, and
filled in from one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import capfirst

from crawling.installation.pools import crawl_pools
from crawling.models import Team
from crawling.orders.fields import OrderField
from crawling.orders.order import FIELDS
from crawling.orders.sections.reading import revision_in_words
from crawling.runs.crawls.extractor_rules import newest_rules
from crawling.web.secret_headers import MASK

#: keeps the browser from correcting the text. `autocomplete="off"` is not among these, since the
#: browser would then not restore the text when a user returns to the page
PLAIN = {"spellcheck": "false", "autocapitalize": "off"}
INPUTS = {one.name: one.input for one in FIELDS}


def _pools() -> list[tuple[str, str]]:
    """The pools other than the default pool."""
    return [
        (name, name) for name in crawl_pools().order_by("pk").values_list("name", flat=True)[1:]
    ]


def _teams() -> list[tuple[str, str]]:
    return [(name, name) for name in Team.objects.values_list("name", flat=True)]


def _extractors() -> list[tuple[str, str]]:
    return [(one.reference, revision_in_words(one.reference)) for one in newest_rules()]


#: fields whose choices are rows of a table, with the label for no choice
NAMED: dict[str, tuple[str, Callable[[], list[tuple[str, str]]]]] = {
    "pool": ("the default pool", _pools),
    "team": ("none", _teams),
    "extractor": ("none", _extractors),
}


class OrderForm(forms.Form):
    """Asks for fields of an order. The order itself decides which answers are valid."""

    def __init__(self, *args: Any, asked: Sequence[OrderField], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asked = asked
        self.fields |= {one.input: form_field(one) for one in asked}
        for name, (usual, names) in NAMED.items():
            if name in self.fields:
                self._offer_names(name, usual, names())

    def _offer_names(self, name: str, usual: str, names: list[tuple[str, str]]) -> None:
        """Offer the existing names as choices. The current name is a choice even if its row is
        deleted.
        """
        given = str(self.data.get(name) or self.initial.get(name) or "")
        is_gone = given and given not in dict(names)
        gone = (
            [(given, revision_in_words(given) if name == "extractor" else given)] if is_gone else []
        )
        choices = [("", usual), *names, *gone]
        asked = self.fields[name]
        self.fields[name] = forms.ChoiceField(
            choices=choices, label=asked.label, help_text=asked.help_text, required=False
        )

    def order_answers(self) -> dict[str, Any]:
        """The order's fields, unchecked. Empty fields are left out."""
        return {
            one.name: _read_answer(one, answer)
            for one in self.asked
            if (answer := self.cleaned_data.get(one.input))
        }

    def blame(self, errors: Mapping[str, str]) -> None:
        """Put each of an order's mistakes beside its field. The parsed answers stay unchanged, so
        that later uses of them do not depend on mistakes in other fields.
        """
        read = dict(self.cleaned_data)
        for key, message in errors.items():
            name = self.input_of(key)
            self.add_error(
                name if name in self.fields else None,
                self._number_sentence(name)
                or self._entry_sentence(key, name)
                or as_sentence(message),
            )
        self.cleaned_data = read

    def _entry_sentence(self, key: str, name: str) -> str:
        """The sentence for a line of a table without a separator between name and value; empty for
        another mistake.
        """
        entry = key.partition(".")[2]
        one = next((one for one in self.asked if one.input == name), None)
        if not entry or one is None or one.kind is not dict:
            return ""
        mark = one.question.mark.strip() or one.question.mark
        if any(line.strip() == entry for line in str(self.cleaned_data.get(name, "")).splitlines()):
            return f"“{entry}” has no “{mark}”; write a name, “{mark}” and a value in each line."
        return ""

    def input_of(self, key: str) -> str:
        """The form's name for the field of a mistake, or for the field with the mistaken entry."""
        name = key.partition(".")[0]
        return INPUTS.get(name, name)

    def _number_sentence(self, name: str) -> str:
        """The sentence for a limit that is no number, in the form's own unit; empty if it is a
        number. The order's sentence would name another unit.
        """
        unit = next((one.question.unit for one in self.asked if one.input == name), None)
        if unit is None or isinstance(_scaled_number(self.cleaned_data.get(name, ""), 1), int):
            return ""
        return (
            f"{self.fields[name].label} must be a number, like {unit.example}; leave the field "
            "empty for no limit."
        )


def form_field(one: OrderField) -> forms.Field:
    question = one.question
    common: dict[str, Any] = {
        "label": question.label,
        "help_text": question.help,
        "required": False,
        "initial": _value_in_form(one, one.default),
    }
    if question.choices:
        return forms.ChoiceField(choices=lambda: list(question.choices), **common)
    if one.kind is bool:
        return forms.BooleanField(**common)
    if one.kind in (list, dict):
        return forms.CharField(strip=False, widget=_text_area(question.rows), **common)
    if one.kind is str:
        return forms.CharField(max_length=4096, widget=forms.TextInput(attrs=PLAIN), **common)
    is_whole = one.kind is int and question.unit is None
    # a numeric keypad on a phone has no minus sign
    mode = "text" if one.is_signed else "numeric" if is_whole else "decimal"
    return number_field(mode=mode, **common)


def number_field(*, mode: str = "numeric", **common: Any) -> forms.CharField:
    """The form field of a number. It is a text field: the order checks the number and reports
    mistakes, while a browser would discard an invalid number.
    """
    widget = forms.TextInput(attrs={"inputmode": mode})
    return forms.CharField(max_length=40, widget=widget, **{"required": False, **common})


def lines_field(label: str, help_text: str, *, rows: int) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=_text_area(rows)
    )


def _text_area(rows: int) -> forms.Textarea:
    return forms.Textarea(attrs={**PLAIN, "rows": rows})


def fill_in(
    asked: Iterable[OrderField], order: Mapping[str, Any], *, masked: bool = False
) -> dict[str, Any]:
    """The form's contents for an order like this one. Secrets are left out, or masked if
    `masked`.
    """
    return {one.input: _value_in_form(one, order[one.name], masked=masked) for one in asked}


def _read_answer(one: OrderField, answer: Any) -> Any:
    """A non-empty answer in the form that the order expects."""
    question = one.question
    if one.kind is list:
        return [answer] if question.choices else typed_entries(answer)
    if one.kind is dict:
        mark = question.mark.strip() or question.mark
        stated = (line.strip() for line in answer.splitlines())
        return dict(one.halves(line, mark) for line in stated if line)
    if question.none and answer == question.none:
        return None
    return _scaled_number(answer, question.unit.size) if question.unit else answer


def _value_in_form(one: OrderField, value: Any, *, masked: bool = False) -> Any:
    question = one.question
    if one.kind is list:
        # if a field has several choices, one of them is always chosen
        return "" if question.choices and len(value) > 1 else "\n".join(value)
    if one.kind is dict:
        return "\n".join(_entries(one, value, masked=masked))
    if value is None or (not masked and MASK in str(value)):
        return question.none
    if one.kind is bool and not question.choices:
        return value
    return plain(value / question.unit.size if question.unit else value)


def _entries(one: OrderField, table: Mapping[str, Any], *, masked: bool) -> Iterator[str]:
    """The lines of a table. The secret of an entry must be entered again."""
    for name, value in table.items():
        if masked or MASK not in str(value):
            yield f"{name}{one.question.mark}{plain(value)}"


def as_sentence(message: str) -> str:
    """The message with a capital letter, unless it begins with a URL, which is kept unchanged."""
    return message if "://" in message.partition(" ")[0] else capfirst(message)


def typed_entries(text: str) -> list[str]:
    """The entries in a typed list. Comments begin with #."""
    return [line for raw in text.splitlines() if (line := raw.strip()) and not line.startswith("#")]


def plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _scaled_number(text: str, by: int) -> str | int:
    """The number in the order's unit. An invalid number is returned as text, and the order refuses
    it.
    """
    try:
        return round(float(text) * by)
    except (ValueError, OverflowError):
        return text
