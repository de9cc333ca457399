"""Pages read aloud: what comes first, headings that nest, and names for what is jumped to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Page

from tests.browser.house import furnish

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


@pytest.fixture
def pages(make_web, user_of, browse) -> list[Page]:
    """Each kind of page, of a house full of crawls."""
    web = make_web()
    web.enough.set()
    crawls = furnish(web.url, by=user_of("operator"))
    done, waiter = crawls["manual"].pk, crawls["waiter"].pk
    tabs = (
        "",
        "pages/",
        "not-fetched/",
        "links/",
        "frontier/",
        "hosts/",
        "charts/",
        "runs/",
        "settings/",
    )
    addresses = ["/", "/crawls/", "/crawls/new/", "/hosts/", "/dns/", "/resources/", "/health/"]
    addresses += [f"/crawls/{done}/{tab}" for tab in tabs] + [f"/crawls/{waiter}/"]
    return [browse("operator", address) for address in addresses]


def test_a_page_read_aloud_begins_with_its_places_and_its_headings_nest(pages):
    for page in pages:
        walk = page.evaluate(WALK)
        kinds = [kind for kind, _ in walk]
        levels = [int(kind[1]) for kind in kinds if kind[0] == "h"]

        assert walk[0] == ["nav", "Main"], page.url
        assert kinds.count("h1") == kinds.count("main") == 1, page.url
        assert levels[0] == 1, page.url
        assert all(deep <= above + 1 for above, deep in pairwise(levels)), page.url
        assert [kind for kind, name in walk if kind != "main" and not name] == [], page.url
        assert page.evaluate(JUMPS) == 0, page.url
