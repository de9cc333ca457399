"""Crawls that the tests of a module share: done and committed before the first of them.

Each test finds the same state: its transaction is rolled back, and its archive is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from django.db import connection
from django.test import override_settings

from tests.databases.shared_rows import SHARED
from tests.servers import Site, serve_site

P = ParamSpec("P")
T = TypeVar("T")


class Shared:
    """Does the work that tests share, and removes the results after the last of them.

    They are removed before a test that commits, too: such tests of a module come after the others.
    """

    def __init__(self, blocker: Any, archive: Path, sites: ExitStack) -> None:
        self._blocker, self._archive, self._sites = blocker, archive, sites

    @classmethod
    @contextmanager
    def begun(cls, blocker: Any, archive: Path) -> Iterator[Shared]:
        SHARED.archive = archive
        with ExitStack() as sites:
            yield cls(blocker, archive, sites)
        with blocker.unblock():
            SHARED.remove()
            connection.close()

    def serve(self, pages: dict[str, Any], **options: Any) -> Site:
        """Start a site that runs until the last test has ended."""
        return self._sites.enter_context(serve_site(pages, **options))

    def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do work that commits."""
        with self._blocker.unblock(), override_settings(ARCHIVE_DIR=self._archive):
            return work(*args, **kwargs)
