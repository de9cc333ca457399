"""Fields for numbers of units, in the units of pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from allocation.wording import UnitWords

#: the most units of a class, in its own unit
MOST_UNITS = 2**31 - 2
NO_NUMBER = "This must be a whole number of units, like 64; leave it as it was to change nothing."
NO_SIZE = "This must be a size, like 60 or 1.5 GB; leave it as it was to change nothing."
COMMA = (
    "A comma stands only before three digits, as in 1,024; write decimals with a point, as in 1.5."
)


class UnitText(forms.TextInput):
    """Sends the displayed unit together with the number, since the capacity may have another unit
    when the form is sent.
    """

    def __init__(self, unit: str, attrs: dict[str, Any]) -> None:
        super().__init__(attrs)
        self.unit = unit

    def render(self, name: str, value: Any, *args: Any, **kwargs: Any) -> SafeString:
        shown = super().render(name, value, *args, **kwargs)
        hidden = '{}<input type="hidden" name="{}.unit" value="{}">'
        return format_html(hidden, shown, name, self.unit)

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        value, unit = super().value_from_datadict(data, files, name), data.get(f"{name}.unit")
        is_bare = isinstance(value, str) and value.strip()[-1:].isdigit()
        return f"{value} {unit}" if is_bare and unit and unit != self.unit else value


class UnitsField(forms.Field):
    """A number of units of a class. A size is shown and read in a common unit, which is in the
    label. Another unit may be typed after the number.
    """

    def __init__(
        self,
        measure: UnitWords,
        *,
        now: int | None,
        like: int,
        name: str = "",
        required: bool = True,
        help_text: str = "",
    ) -> None:
        """like: an amount that has the unit of the field. name: the beginning of the label."""
        self.unit_words, self.now, self.like = measure, now, like
        invalid, unit = NO_SIZE if measure.is_size else NO_NUMBER, measure.unit_of(like)
        # in a number field a browser would discard invalid text, and the mouse wheel would change
        # the number
        typed = {"inputmode": "decimal", "autocomplete": "off"}
        super().__init__(
            required=required,
            initial=now,
            label=f"{capfirst(name or measure.name)} ({unit})",
            help_text=help_text,
            error_messages={"invalid": invalid, "required": invalid},
            validators=[MinValueValidator(0), MaxValueValidator(MOST_UNITS)],
            widget=UnitText(unit, typed) if measure.is_size else forms.TextInput(typed),
        )

    def prepare_value(self, value: Any) -> Any:
        return (
            self.unit_words.amount_in_unit_of(value, like=self.like)
            if isinstance(value, int)
            else value
        )

    def to_python(self, value: Any) -> int | None:
        text = str(value or "").strip()
        if not text:
            return None
        if text == self.prepare_value(self.now):
            return self.now  # the displayed number is rounded
        units = self.unit_words.read(text, like=self.like)
        if units is None:
            told = COMMA if "," in text else self.error_messages["invalid"]
            raise ValidationError(told, code="invalid")
        return units
