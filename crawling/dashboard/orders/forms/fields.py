"""What the parts of a crawl's form share: numbers that are typed, in people's units, and lines."""

from __future__ import annotations

from django import forms
from django.utils.text import capfirst

MIB = 1024 * 1024


def number_field(
    label: str, help_text: str, *, initial: str = "", mode: str = "numeric"
) -> forms.CharField:
    """A number is checked as text by the order, which says what is wrong with it; a browser would
    throw the text away.
    """
    widget = forms.TextInput(attrs={"inputmode": mode, "autocomplete": "off"})
    return forms.CharField(
        label=label,
        help_text=help_text,
        initial=initial,
        required=False,
        max_length=40,
        widget=widget,
    )


def lines_field(label: str, help_text: str, *, rows: int = 2) -> forms.CharField:
    """Text that is one entry a line."""
    widget = forms.Textarea(attrs={"rows": rows, "spellcheck": "false", "autocapitalize": "off"})
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=widget
    )


def as_sentence(message: str) -> str:
    """The message with a capital, unless it begins with a URL, which is quoted as it is."""
    return message if "://" in message.partition(" ")[0] else capfirst(message)


def lines(text: str) -> list[str]:
    return [line for raw in text.splitlines() if (line := raw.strip()) and not line.startswith("#")]


def scaled(text: str, by: int) -> str | int:
    """In the order's unit; what is no number is left to the order to refuse."""
    try:
        return round(float(text) * by)
    except (ValueError, OverflowError):
        return text


def plain(number: float) -> str:
    if isinstance(number, bool):
        return str(number).lower()
    return str(int(number)) if float(number).is_integer() else repr(number)
