"""Lines of a run's log as rows of facts, for programs, terminals and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from crawling.dashboard.run.log import LogFilter, whole_log
from crawling.models import LogLine, Run
from serving.downloads import Download, row_file, text_file
from serving.row_lines import lines_of


def row_of(line: LogLine) -> dict[str, Any]:
    """Everything that is known of it, by name."""
    return {
        "id": line.pk,
        "at": line.at,
        "level": line.get_level_display(),
        "message": line.message,
        "url": line.url,
    }


def as_text(lines: Iterable[LogLine]) -> Iterator[str]:
    """One line each, whatever breaks a message has."""
    return (
        " ".join(
            f"{line.at:%Y-%m-%dT%H:%M:%S.%fZ} {line.get_level_display()} {line.message} "
            f"{line.url}".split()
        )
        + "\n"
        for line in lines
    )


def as_jsonl(lines: Iterable[LogLine]) -> Iterator[str]:
    """A JSON object a line for each."""
    return lines_of(map(row_of, lines), "jsonl")


def log_file(run: Run, wanted: LogFilter, kind: str) -> Download:
    """All lines that the filter lets through, as txt or jsonl."""
    stem = f"crawl-{run.crawl_id}-run-{run.number}{'-some' if wanted else ''}-log"
    lines = whole_log(run, wanted)
    if kind == "txt":
        return text_file(stem, as_text(lines))
    return row_file(stem, kind, map(row_of, lines))
