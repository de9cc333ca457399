"""Rows of long lists, rendered in Python: for hundreds of rows a template's loop takes a tenth of a
second.

Strangers' text is escaped; everything else is numbers, times and words of ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import accumulate

from django import template
from django.template.defaultfilters import filesizeformat
from django.utils.html import conditional_escape, escape
from django.utils.safestring import SafeString, mark_safe

from crawling.dashboard.crawls.list_rows import CrawlListRow
from crawling.dashboard.run.charts import TimeSeries, TimeSeriesPoint
from crawling.dashboard.run.log import LogRow, log_rows
from crawling.models import LogLine

register = template.Library()


@register.simple_tag
def latest_log_lines(lines: Iterable[LogLine]) -> SafeString:
    """Lines of a log, like the latest ones on the page of a crawl."""
    return mark_safe("".join(map(_latest_line, log_rows(lines))))  # noqa: S308


def _latest_line(line: LogRow) -> str:
    level = f"<strong>{line.level}</strong>\n" if line.is_marked else ""
    url = f' <span class="url">{escape(line.url)}</span>' if line.url else ""
    return (
        f'<li class="level-{line.level}"><time datetime="{line.iso}"\n'
        f'title="{line.full}">{line.brief}</time> '
        f"{level}{conditional_escape(line.message)}{url}</li>\n"
    )


@register.simple_tag
def chart_rows(chart: TimeSeries, kind: str) -> SafeString:
    """The numbers of a chart. kind: as in the template of charts. The number of known URLs is
    cumulative: most URLs are found in one burst, and later ones would be invisible beside it.
    """
    known, unit = accumulate(point.discovered for point in chart.points), chart.size_unit
    rows = (_chart_row(*one, kind, unit) for one in zip(chart.points, known, strict=True))
    return mark_safe("".join(rows))  # noqa: S308


def _chart_row(point: TimeSeriesPoint, known: int, kind: str, unit: str) -> str:
    numbers: tuple[float, ...] = (point.fetched,)
    if kind == "bytes":
        numbers = (point.size(unit),)
    elif kind == "known":
        numbers = (known,)
    elif kind == "pages":
        numbers = (point.fetched, point.failed)
    cells = "".join(
        f'<td class="number"><data value="{number}">{number:,}</data></td>' for number in numbers
    )
    mark, words = (" data-open", " <small>so far</small>") if point.is_open else ("", "")
    return (
        f'<tr{mark}><th scope="row"><time datetime="{point.iso}">{point.label}</time>{words}</th>'
        f"{cells}</tr>\n"
    )


@register.simple_tag
def crawl_cells(row: CrawlListRow, shown: Collection[str]) -> SafeString:
    """The cells with the state and the numbers of a crawl in the list, in the shown columns."""
    view, counts, most = row.view, row.view.counts, row.crawl.max_pages
    fetched = view.pages if most else counts.fetched
    name = escape(view.name)
    done = most if view.is_complete else fetched
    of_most = (
        f' <small class="of">of {most:,}</small><progress value="{done}" max="{most}"\n'
        f'aria-label="Pages of {name}"></progress>'
        if most
        else ""
    )
    is_new = counts.bytes or not counts.succeeded
    size = filesizeformat(counts.bytes) if is_new else UNCHANGED
    columns = {
        "known": _number_cell(counts.discovered),
        "queued": _number_cell(counts.queued),
        "failed": _number_cell(counts.failed, " failed bad" if counts.failed else " failed"),
        "excluded": _number_cell(counts.excluded),
        "size": f'<td class="number">{size}</td>',
        "rate": (
            f'<td class="number" title="{NOW if row.is_now else AVERAGE}">{_rate_text(row)}</td>'
        ),
    }
    cells = "\n".join(cell for key, cell in columns.items() if key in shown)
    return mark_safe(  # noqa: S308
        f'<td class="is-state" data-crawl="{view.id}">'
        f'<span class="state state-{view.state}">{view.state}</span></td>\n'
        f'<td class="number fetched">{fetched:,}{of_most}</td>\n{cells}'
    )


UNCHANGED = '<small class="of">unchanged</small>'
NOW, AVERAGE = "over the last minute or two", "on average over its run"


def _number_cell(number: int, kinds: str = "") -> str:
    return f'<td class="number{kinds}">{number:,}</td>'


def _rate_text(row: CrawlListRow) -> str:
    if row.rate is None:
        return "–"
    return f"{row.rate:.1f}" if row.is_now else f'<small class="of">avg</small> {row.rate:.1f}'
