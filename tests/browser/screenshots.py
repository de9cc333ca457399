"""`make screenshots` renews the pictures in the documents: the same crawls in the same states each
time.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from allocation.models import Pool
from crawling.crawls.creation import start_run
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import CrawlJob, Run
from crawling.models.jobs import RunState
from crawling.preresolver.machine_lock import is_any_taken
from crawling.runs.steering import pause
from crawlsite.env import BASE_DIR
from tests.browser.endless import EndlessWeb
from tests.browser.house import MOST, make_crawl
from tests.stack import wait_until

PICTURES = BASE_DIR / "docs" / "screenshots"
#: width of the window -> the most of a page's height that is shown
WIDTHS = {1440: 720, 390: 844}
PORT = 8010
#: crawls and the page at which their webs make them stand still, so that they have come as far each
#: time
HELD_AT = {"Old manuals": None, "Town news": 97, "Library catalogue": 181}


@pytest.fixture
def crawls(make_web, workers, user_of) -> dict[str, CrawlJob]:
    """One that is done, one paused, one at work, one that waits for it, and one not started yet."""
    by = user_of("operator")
    workers.start(["resolve_ahead", "--skip-checks"])
    webs = {
        name: make_web(f"127.0.0.{number}", port=PORT, hold_at=HELD_AT[name])
        for number, name in enumerate(HELD_AT, start=2)
    }
    crawls = {
        name: make_crawl(
            name,
            web.url,
            by=by,
            batch_size=20,
            max_pages=2000 if HELD_AT[name] else 400,
            claim=MOST,
        )
        for name, web in webs.items()
    }
    shops = make_web("127.0.0.9", port=PORT)
    crawls["Shop prices"] = make_crawl("Shop prices", shops.url, by=by, claim=MOST)
    crawls["Seed bank of 1907"] = make_crawl("Seed bank of 1907", shops.url, by=by)
    run_to(crawls["Old manuals"], RunState.FINISHED, webs["Old manuals"], pages=0)
    run_to(crawls["Town news"], RunState.PAUSED, webs["Town news"], pages=80)
    start_run(crawls["Library catalogue"], by=by)
    wait_until(lambda: crawl_view(crawls["Library catalogue"]).counts.fetched >= 160)
    wait_until(is_any_taken)
    start_run(crawls["Shop prices"], by=by)
    wait_until(lambda: crawl_view(crawls["Shop prices"]).state == "waiting")
    for age, name in enumerate(["Library catalogue", "Town news", "Old manuals"], start=1):
        grow_older(crawls[name], minutes=2 * age)
    return crawls


def run_to(crawl: CrawlJob, state: RunState, web: EndlessWeb, *, pages: int) -> None:
    """Bring a crawl's run into the state, after so many pages."""
    start_run(crawl, by=crawl.created_by)
    wait_until(lambda: crawl_view(crawl).counts.fetched >= pages)
    if state == RunState.PAUSED:
        pause(crawl, by=crawl.created_by)
        web.enough.set()
    wait_until(lambda: crawl.runs.get().state == state)


def grow_older(crawl: CrawlJob, *, minutes: int) -> None:
    """Let a run have begun so long ago, that times and rates come out the same."""
    now = timezone.now()
    run = crawl.runs.get()
    finished_at = run.finished_at and now - timedelta(minutes=minutes - 1)
    Run.objects.filter(pk=run.pk).update(
        started_at=now - timedelta(minutes=minutes), finished_at=finished_at
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_take_the_pictures(browse, crawls, scheme):
    PICTURES.mkdir(exist_ok=True)
    addresses = {
        "overview": "/",
        "crawls": "/crawls/",
        "new-crawl": "/crawls/new/",
        "crawl": f"/crawls/{crawls['Library catalogue'].pk}/",
        "frontier": f"/crawls/{crawls['Library catalogue'].pk}/frontier/",
        "health": "/health/",
        "resources": f"/resources/{Pool.objects.get().pk}/",
    }
    for width, tallest in WIDTHS.items():
        page = browse("operator", color_scheme=scheme, viewport={"width": width, "height": 800})
        for name, address in addresses.items():
            page.goto(address)
            take(page, f"{name}-{width}-{scheme}.png", width, tallest)


def take(page: Page, name: str, width: int, tallest: int) -> None:
    height = min(tallest, page.evaluate("document.documentElement.scrollHeight"))
    page.set_viewport_size({"width": width, "height": height})
    page.screenshot(path=PICTURES / name, animations="disabled", caret="hide")
