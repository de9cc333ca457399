"""Fields for numbers of units, in the units that pages show them in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.text import capfirst

from allocation.wording import UnitWords

#: of a class, in its own unit
MOST_UNITS = 2**31 - 2
NO_NUMBER = "This must be a whole number of units, like 64; leave it as it was to change nothing."
NO_SIZE = "This must be a size, like 60 or 1.5 GB; leave it as it was to change nothing."


class UnitsField(forms.Field):
    """A number of units of a class. A size is shown and read in a common unit, which is in the
    label; another one may be typed after the number.
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
        """like: an amount that has the unit of the field; name: the beginning of the label."""
        self.measure, self.now, self.like = measure, now, like
        invalid = NO_SIZE if measure.is_size else NO_NUMBER
        super().__init__(
            required=required,
            initial=now,
            label=f"{capfirst(name or measure.name)} ({measure.unit_of(like)})",
            help_text=help_text,
            error_messages={"invalid": invalid, "required": invalid},
            validators=[MinValueValidator(0), MaxValueValidator(MOST_UNITS)],
            # A browser would throw away what was typed into a field of numbers, and turn it when
            # the wheel is.
            widget=forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
        )

    def prepare_value(self, value: Any) -> Any:
        return self.measure.written(value, like=self.like) if isinstance(value, int) else value

    def to_python(self, value: Any) -> int | None:
        text = str(value or "").strip()
        if not text:
            return None
        if text == self.prepare_value(self.now):
            return self.now  # what is shown is rounded
        units = self.measure.read(text, like=self.like)
        if units is None:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return units
