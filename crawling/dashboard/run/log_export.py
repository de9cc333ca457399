"""Lines of a run's log as rows of facts, for programs, terminals and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from crawling.dashboard.base.responses import Download
from crawling.dashboard.run.log import LogFilter, whole_log
from crawling.models import LogLine, Run


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
    return (
        json.dumps({**row_of(line), "at": line.at.isoformat()}, ensure_ascii=False) + "\n"
        for line in lines
    )


#: by kind of file: what writes the lines, and the type
KINDS: dict[str, tuple[Callable[[Iterable[LogLine]], Iterator[str]], str]] = {
    "txt": (as_text, "text/plain; charset=utf-8"),
    "jsonl": (as_jsonl, "application/x-ndjson"),
}


def log_file(run: Run, wanted: LogFilter, kind: str) -> Download:
    """All lines that the filter lets through; kind: one of KINDS."""
    write, content_type = KINDS[kind]
    return Download(
        f"crawl-{run.crawl_id}-run-{run.number}{'-some' if wanted else ''}-log.{kind}",
        content_type,
        write(whole_log(run, wanted)),
    )
