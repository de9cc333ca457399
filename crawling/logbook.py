"""Write a run's log."""

from __future__ import annotations

from crawling.models import Level, LogLine


def write(run_id: int, message: str, *, level: Level = Level.INFO, url: str = "") -> None:
    """Add one line."""
    LogLine.objects.create(run_id=run_id, level=level, message=message[:2000], url=url)
