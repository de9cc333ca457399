"""Rows that were committed for the tests of a module (`tests/crawling/shared.py`)."""

from __future__ import annotations

from pathlib import Path

from tests.databases.emptying import empty_database


class SharedRows:
    """Committed rows. archive: the folder that belongs to the rows, of which each test gets a copy;
    None if there are no rows.
    """

    archive: Path | None = None

    def remove(self) -> None:
        """Remove the rows; a second call does nothing."""
        if self.archive:
            empty_database()
        self.archive = None


SHARED = SharedRows()
