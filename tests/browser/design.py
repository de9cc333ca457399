"""The design as a browser shows it: few sizes of type, one button that a page is for."""

from __future__ import annotations

from playwright.sync_api import Page

SIZES = {"12px", "13px", "15px", "18px", "24px"}
SIZES_SHOWN = """() => [...new Set([...document.querySelectorAll('body *')]
  .filter((one) => one.checkVisibility() && [...one.childNodes].some(
    (node) => node.nodeType === 3 && node.textContent.trim()))
  .map((one) => getComputedStyle(one).fontSize))]"""
PRIMARY = "main :is(button, [role=button]).primary"
#: of each primary button, the red ones in the same row
RED_BESIDE = """() => [...document.querySelectorAll('main .primary')].flatMap((one) =>
  [...one.parentElement.querySelectorAll(':scope > .danger')]).length"""


def faults_of_design(page: Page) -> list[str]:
    """The faults of a page that stands open, each with its address."""
    found = [f"a size of type: {size}" for size in set(page.evaluate(SIZES_SHOWN)) - SIZES]
    if (count := page.locator(PRIMARY).count()) > 1:
        found.append(f"{count} primary buttons")
    if page.evaluate(RED_BESIDE):
        found.append("a red button beside the primary one")
    return [f"{page.url}: {fault}" for fault in found]
