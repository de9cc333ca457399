"""A run's log. It is read from any place in either direction, with a filter, and as a file. The
cost of one read is bounded.
"""

from __future__ import annotations

import re
from calendar import month_abbr
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.html import format_html

from crawling.dashboard.base.time_range import ALWAYS, TimeRange
from crawling.models import Level, LogLine, Run
from serving.downloads import Download, row_file, text_file
from serving.paging import rows_and_next
from serving.requests import asked_text
from serving.row_lines import lines_of

CHUNK = 1_000
LONGEST_TEXT = 200
#: the most lines that are searched one by one at a time, so that a search never reads a whole log
SEARCHED = 10_000
#: Lines get their numbers when they are written, but are visible only after their transactions end,
#: so a line with a later number may be visible first. No transaction that writes lines takes this
#: long.
SETTLED_AFTER = timedelta(seconds=10)
#: the texts by which `crawling.runs.shift_lifecycle` names the worker of a shift, at present and up
#: to 0.2.0
WORKER = re.compile("((?:Work session|Shift) (?:began|ended) on )([0-9a-f]{32})")
#: the number of digits of a worker's name that are shown; it has 32
SHOWN = 8
MONTHS = tuple(month_abbr)
#: read once, since Django looks up the labels of a field's choices for each row
LABELS = {level.value: level.label for level in Level}
LEVEL_WORDS = {Level.INFO: "all lines", Level.WARNING: "warnings and errors", Level.ERROR: "errors"}


@dataclass(frozen=True)
class LogFilter:
    #: the lowest level
    level: Level = Level.INFO
    #: a part of the line or of its URL, ignoring case
    text: str = ""
    span: TimeRange = ALWAYS

    @classmethod
    def read(cls, query: Mapping[str, str]) -> LogFilter:
        """The filter that a URL's query asks for. Invalid values are ignored."""
        text = asked_text(query, "text", most=LONGEST_TEXT)
        return cls(
            Level.__members__.get(query.get("level", "").upper(), Level.INFO),
            text,
            TimeRange.read(query),
        )

    def __bool__(self) -> bool:
        return bool(self.text or self.span) or self.level > Level.INFO

    @property
    def is_looking(self) -> bool:
        """Whether the lines must be read one by one, since no index finds them."""
        return bool(self.text) or self.level == Level.WARNING

    def of(self, run: Run) -> QuerySet[LogLine]:
        """The run's matching lines, in no order."""
        lines = LogLine.objects.filter(self.span.of("at"), run=run)
        if self.level >= Level.ERROR:
            # the condition in the form of that in the index
            lines = lines.filter(level=Level.ERROR)
        elif self.level > Level.INFO:
            lines = lines.filter(level__gte=self.level)
        return (
            lines.filter(Q(message__icontains=self.text) | Q(url__icontains=self.text))
            if self.text
            else lines
        )


def _lines_within(run: Run, span: TimeRange) -> Q:
    """The condition on ids that selects the lines of the span. Numbers rise with time, except
    within SETTLED_AFTER, so no index of times is needed.
    """
    place = Q()
    if span.since:
        place &= Q(pk__gte=_first_id(run, span.since - SETTLED_AFTER))
    if span.until:
        place &= Q(pk__lt=_first_id(run, span.until + SETTLED_AFTER))
    return place


def _first_id(run: Run, moment: datetime) -> int:
    """An id such that all lines before it are earlier than the moment, except within SETTLED_AFTER.
    It is found by bisection, with an index look-up in each step.
    """
    lines = LogLine.objects.filter(run=run).order_by("pk").values_list("pk", "at")
    ends = lines.first(), lines.last()
    if ends[0] is None or ends[1] is None:
        return 0
    low, high = ends[0][0], ends[1][0] + 1
    while low < high:
        middle = (low + high) // 2
        pk, at = lines.filter(pk__gte=middle).first() or ends[1]
        low, high = (pk + 1, high) if at < moment else (low, middle)
    return low


class LogRow(NamedTuple):
    pk: str
    level: str
    is_marked: bool
    iso: str
    full: str
    brief: str
    message: str
    url: str


def brief_message(message: str) -> str:
    """The message as a page shows it. Of a worker's name of 32 digits only the beginning is shown,
    and the whole name on hover.
    """
    found = WORKER.match(message)
    if found is None:
        return message
    words, worker = found.groups()
    rest = message[found.end() :]
    return format_html('{}<code title="{}">{}…</code>{}', words, worker, worker[:SHOWN], rest)


def log_rows(lines: Iterable[LogLine]) -> list[LogRow]:
    """The lines with their times in the reader's time zone."""
    return [_row(line, timezone.localtime(line.at)) for line in lines]


def _row(line: LogLine, at: datetime) -> LogRow:
    """A row with the time of day, which is cut out of the ISO form: for a thousand lines,
    `strftime` would take half of the page's time.
    """
    iso = at.isoformat()
    clock = iso[11:19]
    return LogRow(
        pk=str(line.pk),
        level=LABELS[line.level],
        is_marked=line.level > Level.INFO,
        iso=iso,
        full=f"{iso[:10]} {clock} {at.tzname()}",
        brief=f"{MONTHS[at.month]} {at.day} {clock}",
        message=brief_message(line.message),
        url=line.url,
    )


@dataclass(frozen=True)
class LogWindow:
    """Lines of the log, the latest first."""

    lines: Sequence[LogLine]
    #: the id from which older lines continue; None if there are none
    older: int | None


@dataclass(frozen=True)
class LogTail:
    """Lines of the log, the oldest first.

    A reader reads all pages of one look, then looks again from the id that the first page gives for
    that, since lines may have appeared among those that were not settled.
    """

    lines: Sequence[LogLine]
    #: the id from which the next look begins
    following: int
    #: the id from which to continue after these lines; None if there are no more lines
    newer: int | None


def log_before(run: Run, wanted: LogFilter, *, before: int | None = None, most: int) -> LogWindow:
    """The latest lines before the line with this id. There are fewer than `most` if none is found
    in SEARCHED lines.
    """
    place = _lines_within(run, wanted.span) & (Q() if before is None else Q(pk__lt=before))
    found, end = wanted.of(run).filter(place).order_by("-pk"), None
    if wanted.is_looking:
        end = (
            LogLine.objects.filter(place, run=run)
            .order_by("-pk")
            .values_list("pk", flat=True)[SEARCHED : SEARCHED + 1]
            .first()
        )
        found = found if end is None else found.filter(pk__gt=end)
    lines, older = rows_and_next(found, most)
    return LogWindow(lines, end + 1 if older is None and end is not None else older)


def log_after(run: Run, wanted: LogFilter, *, after: int, now: datetime, most: int) -> LogTail:
    """The first lines after the line with this id, for clients that follow the log.

    Lines younger than SETTLED_AFTER are repeated at the next look: an earlier line may become
    visible only after them. A client recognises repeated lines by their ids.
    """
    lines, newer = _lines_after(run, wanted, after, most)
    settled = max(after, settled_id(run, now))
    return LogTail(lines, settled if newer is None else min(newer, settled), newer)


def whole_log(run: Run, wanted: LogFilter) -> Iterator[LogLine]:
    """All lines, the oldest first. Only a bounded number is in memory at a time, and a slow client
    keeps no cursor open.
    """
    after: int | None = 0
    while after is not None:
        lines, after = _lines_after(run, wanted, after, CHUNK)
        yield from lines


def _lines_after(
    run: Run, wanted: LogFilter, after: int, most: int
) -> tuple[list[LogLine], int | None]:
    """The first lines after the line with this id, and the id after which to continue; None if
    there are no more lines.
    """
    place = _lines_within(run, wanted.span) & Q(pk__gt=after)
    found, end = wanted.of(run).filter(place).order_by("pk"), None
    if wanted.is_looking:
        ids = LogLine.objects.filter(place, run=run).order_by("pk").values_list("pk", flat=True)
        end = ids[SEARCHED - 1 : SEARCHED].first()
        found = found if end is None else found.filter(pk__lte=end)
    lines, newer = rows_and_next(found, most)
    return lines, end if newer is None else newer


def log_around(run: Run, line: int, *, most: int) -> list[LogLine]:
    """The lines around the line with this id, the oldest first, half of them before it; empty if
    the run has no such line.
    """
    lines = LogLine.objects.filter(run=run)
    before = list(lines.filter(pk__lte=line).order_by("-pk")[: most // 2])
    if not before or before[0].pk != line:
        return []
    return [*reversed(before), *lines.filter(pk__gt=line).order_by("pk")[: most // 2]]


def following_id(run: Run, lines: Sequence[LogLine], now: datetime) -> int:
    """The id from which to continue after these lines, the end of the log in the order of time. No
    line before that id can still appear.
    """
    return max(settled_id(run, now), lines[0].pk - 1 if lines else 0)


def settled_id(run: Run, now: datetime) -> int:
    """The id of the latest line before which no further line can appear; 0 if there is none."""
    settled = LogLine.objects.filter(run=run, at__lte=now - SETTLED_AFTER)
    return settled.order_by("-pk").values_list("pk", flat=True).first() or 0


def row_of(line: LogLine) -> dict[str, Any]:
    return {
        "id": line.pk,
        "at": line.at,
        "level": LABELS[line.level],
        "message": line.message,
        "url": line.url,
    }


def as_text(lines: Iterable[LogLine]) -> Iterator[str]:
    """Each entry as one line, even if its message contains line breaks."""
    return (_text(line.at, line.level, line.message, line.url) for line in lines)


def latest_as_text(run: Run, most: int) -> Iterator[str]:
    """The latest lines, the latest first. They are read without model objects, which would take
    longer than the reading.
    """
    lines = LogLine.objects.filter(run=run).order_by("-pk")
    return (_text(*line) for line in lines.values_list("at", "level", "message", "url")[:most])


def _text(at: datetime, level: int, message: str, url: str) -> str:
    moment = at.astimezone(UTC).isoformat(timespec="microseconds")[:-6]  # without the offset +00:00
    return " ".join(f"{moment}Z {LABELS[level]} {message} {url}".split()) + "\n"


def as_jsonl(lines: Iterable[LogLine]) -> Iterator[str]:
    return lines_of(map(row_of, lines), "jsonl")


def log_file(run: Run, wanted: LogFilter, kind: str) -> Download:
    stem = f"crawl-{run.crawl_id}-run-{run.number}{'-some' if wanted else ''}-log"
    lines = whole_log(run, wanted)
    if kind == "txt":
        return text_file(stem, as_text(lines))
    return row_file(stem, kind, map(row_of, lines))
