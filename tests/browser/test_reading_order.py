"""Pages read aloud: what comes first, headings that nest, and names for what is jumped to."""

from __future__ import annotations

from itertools import pairwise

from playwright.sync_api import Page

from tests.browser.design import faults_of_design
from tests.browser.house import furnish

TABS = ("pages", "not-fetched", "links", "frontier", "hosts", "charts", "runs", "settings")

#: what screen readers jump to, in the order of the document: headings with their levels, landmarks
#: and tables with their names
WALK = """() => {
  const kinds = "h1,h2,h3,h4,h5,h6,nav,main,form[aria-label],section,table,[role=region]";
  const named = (one) => (one.getAttribute("aria-label")
    || (one.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean)
      .map((id) => document.getElementById(id)?.textContent || "").join(" ")
    || one.caption?.textContent
    || (one.closest("[role=group],[role=region],section,article")?.getAttribute("aria-labelledby"))
    || (one.closest("[role=group],[role=region]")?.getAttribute("aria-label")) || "").trim();
  return [...document.querySelectorAll(kinds)].filter((one) => one.checkVisibility()).map((one) =>
    [one.tagName.toLowerCase(),
     /^H/.test(one.tagName) ? one.textContent.trim() : named(one)]);
}"""
#: of what Tab stops at in the main part, those that come before something above them on the screen;
#: what stands side by side is one line
JUMPS = """() => {
  const stops = [...document.querySelectorAll("main .head :is(a,button,summary), main .tabs a")]
    .filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());
  return stops.filter((box, at) => at && box.bottom < stops[at - 1].top - 1).length;
}"""


def faults_of_order(page: Page) -> list[str]:
    """The faults of a page for a user who has it read aloud."""
    walk = page.evaluate(WALK)
    kinds = [kind for kind, _ in walk]
    levels = [int(kind[1]) for kind in kinds if kind[0] == "h"]
    rules = {
        "begins with its places": walk[0] == ["nav", "Main"],
        "one heading and one main part": kinds.count("h1") == kinds.count("main") == 1,
        "the heading comes first": levels[:1] == [1],
        "headings nest": all(deep <= above + 1 for above, deep in pairwise(levels)),
        "all have names": [kind for kind, name in walk if kind != "main" and not name] == [],
        "Tab goes down the screen": page.evaluate(JUMPS) == 0,
    }
    return [f"{page.url}: {rule}: no" for rule, holds in rules.items() if not holds]


def test_each_kind_of_page_is_in_order_read_aloud_and_keeps_to_the_design(
    make_web, user_of, browse
):
    """Of a house full of crawls."""
    web = make_web()
    web.enough.set()
    crawls = furnish(web.url, by=user_of("operator"))
    addresses = ["/", "/crawls/", "/crawls/new/", "/hosts/", "/dns/", "/resources/", "/health/"]
    addresses += [f"/crawls/{crawl.pk}/" for crawl in crawls.values()]
    addresses += [f"/crawls/{crawls['manual'].pk}/{tab}/" for tab in TABS]
    page = browse("operator")

    found = []
    for address in addresses:
        page.goto(address)
        found += faults_of_order(page) + faults_of_design(page)

    assert not found, "\n".join(found)
