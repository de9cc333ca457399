"""Every page in every state, in light and dark, on a desk and in a hand: nothing for axe-core to
find, nothing to scroll sideways for.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from allocation.models import Pool
from crawling.jobs.running import run_in_this_process
from crawling.models import Host
from experiments.store import make_experiment
from tests.browser.axe import violations
from tests.browser.house import furnish

#: two of the four, for the time it takes: every colour of both schemes and every layout is judged
SCREENS = {
    "desk-in-light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 900}},
    "hand-in-dark": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}
#: dark and narrow, every page is judged by `test_every_page`
ONE_SCREEN = ("desk-in-light", pytest.param("hand-in-dark", marks=pytest.mark.drill))
TOO_WIDE = "() => document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(params=ONE_SCREEN)
def open_as(request, browse):
    """Return a function that opens a page for a role on this test's screen."""
    return lambda role: browse(role, **SCREENS[request.param])


def faults(page: Page, address: str, status: int = 200) -> list[str]:
    """The faults of a page, each with its address."""
    answer = page.goto(address)
    found = violations(page)
    if answer.status != status:
        found.append(f"status {answer.status}")
    if (excess := page.evaluate(TOO_WIDE)) > 0:
        found.append(f"{excess} pixels wider than the window")
    return [f"{address}: {fault}" for fault in found]


def test_pages_before_there_is_anything(open_as, pool):
    nobody, operator, viewer = (open_as(role) for role in (None, "operator", "viewer"))

    found = faults(nobody, "/login/")
    found += [
        fault
        for address in ("/", "/crawls/", "/crawls/new/", f"/resources/{pool.pk}/")
        for fault in faults(operator, address)
    ]
    found += faults(operator, "/nowhere/", status=404) + faults(viewer, "/crawls/new/", status=403)
    assert not found, "\n".join(found)


@pytest.mark.drill  # dark and narrow, all of these are judged by `test_every_page`
def test_pages_of_a_house_full_of_crawls(open_as, make_web, user_of):
    web = make_web()
    web.enough.set()
    crawls = furnish(web.url, by=user_of("operator"))
    addresses = ["/", "/hosts/", f"/hosts/{Host.objects.earliest('pk').pk}/", "/search/?q=example"]
    addresses += [
        "/crawls/",
        "/crawls/?q=nothing+like+it",
        "/resources/",
        f"/resources/{Pool.objects.get().pk}/",
    ]
    addresses += [
        f"/crawls/new/?clone={crawls['holder'].pk}",
        f"/crawls/{crawls['draft'].pk}/delete/",
        f"/crawls/{crawls['holder'].pk}/delete/",
    ]
    addresses += [f"/crawls/{crawl.pk}/" for crawl in crawls.values()]
    addresses += [
        f"/crawls/{crawls['holder'].pk}/{part}/"
        for part in (
            "charts",
            "compare",
            "runs",
            "runs/1/delete",
            "pages",
            "checkpoints",
            "frontier",
        )
    ]
    addresses += [f"/crawls/{crawls['draft'].pk}/runs/", "/crawls/page-cache/", "/health/"]
    page = open_as("operator")

    found = [fault for address in addresses for fault in faults(page, address)]
    assert not found, "\n".join(found)


@pytest.mark.drill
@pytest.mark.parametrize("open_as", ONE_SCREEN, indirect=True)
def test_the_experiments_before_and_after_there_is_one(open_as, user_of):
    page = open_as("operator")
    found = faults(page, "/experiments/")
    experiment = make_experiment(
        requests=4, bound_seconds=0.3, seed=1, policies=["naive", "banker"], by=user_of("operator")
    )
    run_in_this_process(experiment.job)

    found += [
        fault
        for address in ("/experiments/", experiment.get_absolute_url())
        for fault in faults(page, address)
    ]
    assert not found, "\n".join(found)


def test_the_form_with_mistakes(open_as, pool):
    page = open_as("operator")
    page.goto("/crawls/new/")
    for label in ("Pages", "Depth", "Megabytes", "Minutes"):
        page.get_by_label(label, exact=True).fill("many")
    with page.expect_navigation():
        page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").wait_for()

    assert violations(page) == []
    assert page.evaluate(TOO_WIDE) == 0
