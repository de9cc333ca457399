"""The design as a browser shows it: few sizes of type, one button that a page is for, targets that
a finger hits.
"""

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


#: CSS pixels, as WCAG 2.2 (2.5.8) asks
LEAST = 24
#: targets for fingers that are too small; links within a sentence are none, and a box to tick is as
#: large as its label
SMALL = """(least) => {
  const blocks = "p, li, dd, small, label, figcaption, caption, blockquote";
  const hasWords = (node) => node.nodeType === 3 && /\\p{L}{2}/u.test(node.data);
  const isOfSentence = (one) =>
    getComputedStyle(one).display === "inline" &&
    [...(one.parentElement.closest(blocks)?.childNodes ?? [])].some(hasWords);
  const place = (one) => (["checkbox", "radio"].includes(one.type) && one.labels[0]) || one;
  const named = (one) => (one.ariaLabel || one.textContent || one.name || "").trim().slice(0, 40);
  return [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => !one.closest(".unseen, .skip, [aria-hidden=true]") && !isOfSentence(one))
    .map((one) => [one, place(one).getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && Math.min(box.width, box.height) < least - 0.5)
    .map(([one, box]) => {
      const size = `${Math.round(box.width)} × ${Math.round(box.height)}`;
      const around = one.parentElement.outerHTML.slice(0, 40);
      return `${one.tagName} “${named(one)}” in ${around}: ${size}`;
    });
}"""


def small_targets(page: Page) -> list[str]:
    return [f"{page.url}: {told}" for told in page.evaluate(SMALL, LEAST)]
