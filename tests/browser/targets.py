"""Targets for fingers: how large links, buttons and fields are on a page that stands open."""

from __future__ import annotations

from playwright.sync_api import Page

#: CSS pixels, as WCAG 2.2 (2.5.8) asks
LEAST = 24
#: What a finger may touch, without links within a sentence, whose height is that of its line. A box
#: to tick is as large as its label.
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
