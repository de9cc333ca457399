"""A browser that renders pages is found where systems and Playwright install it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from crawling.machine.browser import BrowserUnits, browser_path, browser_units
from crawling.machine.memory_limit import MIB

OF_PLAYWRIGHT = ".cache/ms-playwright"


@pytest.fixture
def bare(tmp_path, monkeypatch) -> Path:
    """The PATH of a machine without a browser, and the folder of Playwright's browsers."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def install(path: Path, *, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    path.chmod(mode)
    return path


def test_a_machine_may_have_no_browser(bare):
    install(bare / OF_PLAYWRIGHT / "chromium-7/chrome-linux/chrome", mode=0o644)

    assert browser_path() is None
    assert browser_units(4, workers=1) is None


def test_the_systems_browser_is_preferred_and_the_shell_without_windows_to_chromium(bare):
    newest = install(
        bare / OF_PLAYWRIGHT / "chromium_headless_shell-1200/chrome-linux/headless_shell"
    )
    install(bare / OF_PLAYWRIGHT / "chromium_headless_shell-999/chrome-linux/headless_shell")
    assert browser_path() == newest

    full = install(bare / "chromium")
    assert browser_path() == full
    shell = install(bare / "chromium-headless-shell")
    assert browser_path() == shell


@pytest.mark.parametrize(
    ("mebibytes", "workers", "pages", "units"),
    [
        (64 * 1024, 2, 4, BrowserUnits(4, 2048)),
        (8 * 1024, 2, 4, BrowserUnits(2, 1024)),
        (4 * 1024, 1, 4, BrowserUnits(2, 1024)),
        (64 * 1024, 2, 1, BrowserUnits(1, 512)),
        (2 * 1024, 2, 4, None),
        (64 * 1024, 2, 0, None),
    ],
)
def test_a_browser_has_as_many_pages_as_its_share_of_the_memory_has_room_for(
    bare, monkeypatch, mebibytes, workers, pages, units
):
    install(bare / "chromium")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=mebibytes * MIB))

    assert browser_units(pages, workers=workers) == units
