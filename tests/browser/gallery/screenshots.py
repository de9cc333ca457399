"""`make screenshots` renews the pictures in the documents: the main pages as large as they are, and
every page in a strip of four, by day and night, on a desk and in a hand.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from allocation.models import Pool
from allocation.services import create_pool, set_capacity
from crawling.fetching.shift.grants import ShiftGrants
from crawling.models import AllowedNetwork, CrawlJob
from crawlsite.env import BASE_DIR
from tests.browser.gallery.scene import fill, serving_town, values_of, working
from tests.crawling.conftest import CLASSES, OF_BROWSERS, allowed_loopback
from tests.crawling.dashboard.run.test_browser_waits import PAGE
from tests.crawling.fetching.shift.test_browser_stage import shift_of
from tests.every_page import addresses

PICTURES = BASE_DIR / "docs" / "screenshots"
STRIPS = PICTURES / "pages"
#: width of the window -> the most of a page's height that is shown
WIDTHS = {1440: 900, 390: 844}
#: what shows a page while there is nothing yet
EMPTY = ["/", "/crawls/", "/hosts/", "/search/", "/crawls/schedules/", "/crawls/templates/"]
NO_PAGE = "/no-such-page/"


def fill_in_a_private_seed(page: Page) -> None:
    page.fill("#id_seeds", "10.0.0.7")
    page.dispatch_event("#id_seeds", "change")
    page.locator("#closed-addresses button").first.wait_for()


def preview_capacities(page: Page) -> None:
    page.locator("main form .pair input").first.fill("1")
    with page.expect_navigation():
        page.get_by_role("button", name="Preview").click()


def preview_a_withdrawal(page: Page) -> None:
    page.select_option("#kind", "pattern")
    page.fill("#text", "/guide/")
    page.fill("#reason", "Asked for by its author.")
    with page.expect_navigation():
        page.locator("button[name=preview]").click()
    page.locator("#preview").scroll_into_view_if_needed()


#: the pages whose figures are measured
MEASURED = ("overview", "crawls", "crawl", "new-crawl", "resources", "health")
PAINTED = """() => new Promise((tell) => {
  let shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value;
  }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => {
    const all = performance.getEntriesByType("resource");
    const [self] = performance.getEntriesByType("navigation");
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    tell([
      self.transferSize + all.reduce((sum, one) => sum + one.transferSize, 0),
      self.transferSize, all.length + 1, paint.startTime, shift,
    ]);
  }, 5000);
})"""


@pytest.fixture
def town(dns_server, transactional_db, tmp_path) -> Iterator[dict]:
    """Sites with names, a pool, and workers that do nothing yet."""
    create_pool(name="default", classes=CLASSES)
    AllowedNetwork.objects.create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    with serving_town(dns_server) as sites, working(dns_server, tmp_path):
        yield sites


def main_pages(values: dict) -> dict[str, str]:
    return {
        "overview": "/",
        "crawls": "/crawls/",
        "new-crawl": "/crawls/new/",
        "crawl": f"/crawls/{values['library']}/",
        "frontier": f"/crawls/{values['library']}/frontier/",
        "health": "/health/",
        "resources": f"/resources/{Pool.objects.get(name='default').pk}/",
    }


@pytest.mark.timeout(3000)  # five hundred pictures
def test_take_the_pictures(browse, chromium, town, user_of, watch):
    by = user_of("administrator")
    pages = {
        (width, scheme): browse(
            "administrator", color_scheme=scheme, viewport={"width": width, "height": tallest}
        )
        for width, tallest in WIDTHS.items()
        for scheme in ("light", "dark")
    }
    composer = Composer(chromium)
    STRIPS.mkdir(parents=True, exist_ok=True)
    for old in STRIPS.glob("*.webp"):
        old.unlink()
    empty = [composer.strip(pages, one, f"empty-{name_of(one)}") for one in EMPTY]
    values = values_of(fill(town, by=by), town, by=by)
    for name, address in main_pages(values).items():
        for (width, scheme), page in pages.items():
            page.goto(address)
            take(page, f"{name}-{width}-{scheme}.png")
    others = [f"/crawls/{values[who]}/" for who in ("library", "shop", "news", "intranet")]
    full = [
        composer.strip(pages, one, name_of(one)) for one in [*addresses(values), *others, NO_PAGE]
    ]
    pool = Pool.objects.get(name="default").pk
    for address, act in (
        ("/crawls/new/", fill_in_a_private_seed),
        (f"/resources/{pool}/limits/capacity/", preview_capacities),
        (f"/crawls/{values['crawl']}/withdrawals/", preview_a_withdrawal),
    ):
        name = f"{name_of(address)}-{act.__name__.replace('_', '-')}"
        words = act.__name__.replace("_", " ")
        _, picture = composer.strip(pages, address, name, act)
        full.append((f"{address} ({words})", picture))
    figures = {
        name: figures_of(browse("administrator"), address)
        for name, address in main_pages(values).items()
        if name in MEASURED
    }
    (PICTURES / "README.md").write_text(gallery(empty, full, figures))
    watch.complaints.clear()  # of the page that is not there


#: what crawls that render show in a pool of two browser pages, each with one page and in need of
#: another, by the policy of the pool
LOCKED = {
    "naive": ("resources", "what-if", "crawl"),
    "banker": ("resources", "what-if", "crawl"),
}


@pytest.mark.parametrize("policy", LOCKED)
def test_take_the_pictures_of_two_crawls_that_render(policy, browse, transactional_db, dns_server):
    pool = create_pool(name="default", classes=[*CLASSES, *OF_BROWSERS], policy=policy)
    set_capacity(pool=pool.pk, capacity={key: 2 * units for key, units in PAGE.items()})
    allowed_loopback()
    claim = {key: 2 * units for key, units in PAGE.items()}
    first, second = (
        ShiftGrants(shift_of(name, claim=claim)) for name in ("Bird shop", "Harbour news")
    )
    for grants in (first, second, first, second):
        if not grants.has_stage:
            grants.request_stage(PAGE, 600)
    waiting = CrawlJob.objects.get(name="Harbour news").pk
    addresses = {
        "resources": f"/resources/{pool.pk}/",
        "what-if": f"/resources/what-if/?pool={pool.pk}",
        "crawl": f"/crawls/{waiting}/#grants",
    }
    page = browse("administrator", color_scheme="light")
    for name in LOCKED[policy]:
        page.goto(addresses[name])
        page.screenshot(path=PICTURES / f"rendering-{policy}-{name}.png", full_page=name != "crawl")


def name_of(address: str) -> str:
    """The file's name after an address."""
    return re.sub(r"[^a-z0-9]+", "-", address.lower()).strip("-")[:60] or "overview"


def take(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / name, animations="disabled", caret="initial")


class Composer:
    """Puts the four pictures of a page beside one another, at two fifths of their size."""

    def __init__(self, chromium: Browser) -> None:
        self._page = chromium.new_page(viewport={"width": 1568, "height": 368})
        self._devtools = self._page.context.new_cdp_session(self._page)

    def strip(
        self, pages: dict, address: str, name: str, act: Callable[[Page], None] | None = None
    ) -> tuple[str, Path]:
        """Return the address and its picture, taken after what is done there."""
        images = []
        for page in pages.values():
            page.goto(address)
            if act:
                act(page)
            picture = page.screenshot(animations="disabled", caret="initial")
            source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
            images.append(f'<img src="{source}" height="352">')
        self._page.set_content(
            "<body style='margin:8px;display:flex;gap:8px;background:#888'>" + "".join(images)
        )
        self._page.wait_for_function("[...document.images].every((one) => one.complete)")
        shot = self._devtools.send("Page.captureScreenshot", {"format": "webp", "quality": 70})
        path = STRIPS / f"{name}.webp"
        path.write_bytes(base64.b64decode(shot["data"]))
        return address, path


def figures_of(page: Page, address: str) -> list[float]:
    """Of a first visit that is refreshed twice: bytes in all and of the page itself, requests,
    milliseconds until something shows, and how much what is shown has moved.
    """
    page.goto(address)
    return page.evaluate(PAINTED)


def gallery(
    empty: list[tuple[str, Path]], full: list[tuple[str, Path]], figures: dict[str, list[float]]
) -> str:
    """The page that shows all pictures."""
    rows = "\n".join(
        f"| {name} | {all_bytes / 1000:,.0f} | {own / 1000:,.1f} | {requests:.0f} | {paint:,.0f} | "
        f"{shift:.3f} |"
        for name, (all_bytes, own, requests, paint, shift) in figures.items()
    )
    return "\n".join(
        [
            "# Every page, in pictures",
            "",
            "`make screenshots` makes this page and its pictures: each page at 1440 and 390 px,"
            " light and",
            "dark. How the pages looked before is in git: the files of this folder before version"
            " 0.2.0.",
            "",
            "## A first visit",
            "",
            "Measured in headless Chromium without a cache, with the server on the same machine."
            " *Shift* is",
            "the cumulative layout shift over five seconds with two refreshes. The machine was busy"
            " with the",
            "scene's own crawls: bytes and shift are exact, milliseconds are not.",
            "",
            "| page | kB in all | kB of HTML | requests | first paint, ms | shift |",
            "|---|---|---|---|---|---|",
            rows,
            "",
            "## While there is nothing yet",
            "",
            *shown(empty),
            "## At work",
            "",
            *shown(full),
            "## Two crawls that render, in a pool of two browser pages",
            "",
            "Each has a page and needs another one. Without the safety check (policy naive) both"
            " wait for",
            "ever; with it (banker) the second waits until the first can finish.",
            "",
            *(
                f"![{policy}: {name}](rendering-{policy}-{name}.png)\n"
                for policy, names in LOCKED.items()
                for name in names
            ),
        ]
    )


def shown(strips: list[tuple[str, Path]]) -> Iterator[str]:
    for address, path in strips:
        place = re.sub(r"https?%3A|http://[^&]*", "URL", address)
        yield f"`{place}`"
        yield ""
        yield f"![{place}](pages/{path.name})"
        yield ""
