"""The browser of this machine that renders pages, and what it may take."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from crawling.machine.memory_limit import MIB

#: Debian's programs; the headless shell is Chromium without its windows, and starts faster
PROGRAMS = ("chromium-headless-shell", "chromium")
#: the folders and programs of Playwright's own browsers, below the folder of all versions
OF_PLAYWRIGHT = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/chrome-linux*/chrome")
VERSION = re.compile(r"-([0-9]{1,9})$")
NONE = (
    "There is no Chromium on this machine. `make browser` as root installs Debian's; "
    "`playwright install chromium` installs Playwright's."
)
#: the MiB that a page has at least, and the part of the machine's memory for all browsers
LEAST_MIB, MEMORY_PART = 512, 4


class BrowserUnits(NamedTuple):
    """The open pages that a worker's browser may have, and the MiB of memory for all of them."""

    pages: int
    mebibytes: int


def browser_path() -> Path | None:
    """The program of a browser that can render pages; None if this machine has none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return Path(found) if found else next(_playwright_browsers(), None)


def _playwright_browsers() -> Iterator[Path]:
    """The programs of Playwright's browsers that are installed, the newest first."""
    root = Path.home() / ".cache" / "ms-playwright"
    for pattern in OF_PLAYWRIGHT:
        yield from sorted(
            filter(_is_program, root.glob(pattern)), key=_version_in_path, reverse=True
        )


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _version_in_path(path: Path) -> int:
    number = VERSION.search(path.parents[1].name)
    return int(number[1]) if number else 0


def browser_units(pages: int, *, workers: int) -> BrowserUnits | None:
    """The units of a worker's browser; None if it has none, or no memory for a page.

    pages: the most pages that it may have open. workers: those on this machine.
    """
    if why_no_browser(pages, workers=workers):
        return None
    share = _share_mebibytes(workers)
    return BrowserUnits(min(pages, share // LEAST_MIB), min(pages * LEAST_MIB, share))


def why_no_browser(pages: int, *, workers: int) -> str:
    """Why a worker renders no page, with the remedy; empty if it does. pages, workers: as in
    `browser_units`.
    """
    if not pages:
        return "BROWSER_PAGES is 0 here, so this worker renders no page."
    if browser_path() is None:
        return NONE
    if (share := _share_mebibytes(workers)) < LEAST_MIB:
        return (
            f"A browser page has {LEAST_MIB} MiB of memory, and the part of each of the {workers} "
            f"workers here is {share} MiB. Start fewer workers (WORKERS)."
        )
    return ""


def _share_mebibytes(workers: int) -> int:
    """The MiB for the browser of each worker."""
    return psutil.virtual_memory().total // MIB // MEMORY_PART // workers
