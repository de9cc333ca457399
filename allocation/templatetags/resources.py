"""Numbers and times on the pages about resources."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import starmap
from typing import Protocol

from django import template
from django.utils import timezone
from django.utils.html import escape, format_html_join
from django.utils.safestring import SafeString, mark_safe

from allocation.models import Pool
from allocation.wording import UnitWords

register = template.Library()


class Measured(Protocol):
    """A row of a resource class."""

    @property
    def unit_words(self) -> UnitWords: ...


@register.filter
def grouped(number: int | None) -> str:
    """`61,440`; "no limit" in words for None."""
    return "no limit" if number is None else f"{number:,}"


@register.filter
def units_of(number: int | None, measure: UnitWords) -> str:
    """`60 MB/s`, `8`; "no limit" in words for None."""
    return "no limit" if number is None else measure.number(number)


@register.filter
def moment(at: datetime) -> SafeString:
    """A relative time, with the exact time on hover and for programs: `3 min ago`, `in 4 min`."""
    seconds = (timezone.now() - at).total_seconds()
    text = f"{_span(seconds)} ago" if seconds >= 0 else f"in {_span(-seconds)}"
    local = timezone.localtime(at)
    clock = f"{local.isoformat(' ')[:19]} {escape(local.tzname() or '')}"
    # contains only letters, digits and signs of a time zone
    written = f'<time datetime="{at.isoformat()}" title="{clock}">{text}</time>'
    return mark_safe(written)  # noqa: S308


@register.simple_tag
def matrix_cells(
    cells: Iterable[tuple[int, int, int]], resources: Iterable[Measured]
) -> SafeString:
    """The cells of a process in a table of a pool: for each class the held units, Max, and Need.
    They contain only numbers and units. For hundreds of cells, a template's loop would take a tenth
    of a second.
    """
    pairs = zip(cells, resources, strict=False)
    return mark_safe("".join(_matrix_cell(*cell, row.unit_words) for cell, row in pairs))  # noqa: S308


def _matrix_cell(allocation: int, maximum: int, need: int, measure: UnitWords) -> str:
    if not maximum:
        return '<td class="number none"><span class="of" title="claims none">–</span></td>'
    more = f'<small class="need-line">need {escape(measure.number(need))}</small>' if need else ""
    kind = "number" if allocation else "number none"
    held, _, whole = measure.part(allocation, maximum).partition(" of ")
    return f'<td class="{kind}">{held} <span class="of">of {escape(whole)}</span>{more}</td>'


@register.simple_tag
def class_cells(amounts: Iterable[int | None], resources: Iterable[Measured]) -> SafeString:
    """A cell for each class with the amount of it; None for no limit."""
    return format_html_join(
        "",
        '<td class="number{}">{}</td>',
        (
            ("" if units else " none", units_of(units, row.unit_words))
            for units, row in zip(amounts, resources, strict=False)
        ),
    )


@register.simple_tag
def sequence_cells(cells: Iterable[tuple[int, int]], resources: Iterable[Measured]) -> SafeString:
    """The cells of a step of a safe sequence: Need ≤ Work for each class. Rendered in Python for
    the same reason.
    """
    pairs = zip(cells, resources, strict=False)
    shown = "".join(_sequence_cell(*cell, row.unit_words) for cell, row in pairs)
    return mark_safe(shown)  # noqa: S308


def _sequence_cell(need: int, work: int, measure: UnitWords) -> str:
    free = escape(measure.number(work))
    if not need:
        return f'<td class="number none">{free}</td>'
    return f'<td class="number"><strong>{escape(measure.number(need))}</strong> ≤ {free}</td>'


@register.simple_tag
def options(choices: Iterable[tuple[object, str]], chosen: object) -> SafeString:
    """The options of a `select` element: values and names. Rendered in Python for the same
    reason.
    """
    return mark_safe(  # noqa: S308  # names are escaped
        "".join(
            f'<option value="{escape(value)}"{" selected" * (value == chosen)}>{escape(name)}'
            "</option>\n"
            for value, name in choices
        )
    )


@register.simple_tag
def utilisation_rows(rows: Iterable[tuple[datetime, Iterable[int | None]]]) -> SafeString:
    """Moments and their numbers as rows of a table, with times in UTC. Rendered in Python for the
    same reason.
    """
    return mark_safe("".join(starmap(_utilisation_row, rows)))  # noqa: S308  # numbers and times


def _utilisation_row(at: datetime, numbers: Iterable[int | None]) -> str:
    moment = at.astimezone(UTC)
    return (
        f'<tr><th scope="row"><time datetime="{at.isoformat()}"\n'
        f'title="{moment:%Y-%m-%d %H:%M:%S} UTC">{moment:%m-%d %H:%M:%S}</time></th>'
        f"{''.join(map(_data_cell, numbers))}</tr>\n"
    )


def _data_cell(number: int | None) -> str:
    value, text = ("", "–") if number is None else (number, number)
    return f'<td class="number"><data value="{value}">{text}</data></td>'


def _span(seconds: float) -> str:
    """A span of time in coarse steps, so that a page that is refreshed changes only when something
    has happened.
    """
    if seconds < 60:
        return "under 1 min"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"


@register.inclusion_tag("allocation/_tabs.html")
def resource_tabs(here: str, pool: int | None = None) -> dict[str, object]:
    """The tabs of the pages about resources. A page about no pool has the tabs of the only pool, or
    a link to the list of pools.
    """
    if pool is None:
        some = Pool.objects.filter(is_experiment=False).values_list("pk", flat=True)[:2]
        pool = some[0] if len(some) == 1 else None
    return {"here": here, "pool": pool}
