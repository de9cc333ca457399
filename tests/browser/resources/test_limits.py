"""The administrator's limits: numbers by name, then what the bank would answer, then the change."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from allocation.models import Pool, Process
from crawling.runs.start import start_run
from tests.browser.axe import violations
from tests.browser.house import MOST, make_crawl
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, TOO_WIDE


@pytest.fixture
def rivals(make_web) -> Pool:
    """A pool in which `The holder` was granted what `The waiter` waits for."""
    web = make_web()
    for name in ("The holder", "The waiter"):
        start_run(make_crawl(name, web.url, claim=MOST))
    return Pool.objects.get()


@pytest.fixture
def limits(rivals, browse) -> Page:
    """The capacities' page, come to by clicks."""
    page = browse("administrator", "/administration/identity/")
    page.get_by_role("link", name="Limits", exact=True).click()
    page.get_by_role("button", name="Edit capacity").click()
    return page


def units(page: Page, name: str) -> Locator:
    return page.get_by_role("textbox", name=name)


def capacity_of(key: str) -> int:
    pool = Pool.objects.get()
    return pool.capacity[pool.classes.get(key=key).ordinal]


def test_a_capacity_is_named_previewed_confirmed_and_changed(limits):
    expect(limits.get_by_text("Available: 39.1 of 97.7 MB/s.")).to_be_visible()
    units(limits, "Bandwidth").fill("120,000 KB/s")
    limits.get_by_role("button", name="Preview").click()

    preview = limits.get_by_role("table", name="This would change")
    expect(preview.get_by_role("row", name="bandwidth")).to_contain_text("97.7 MB/s")
    expect(preview.get_by_role("row", name="bandwidth")).to_contain_text("117 MB/s")
    expect(limits.get_by_text("Served at once: The waiter.")).to_be_visible()
    assert capacity_of("bandwidth") == 100_000

    limits.get_by_role("button", name="Confirm the change").click()

    expect(limits.get_by_text("Capacity of default is changed.")).to_be_visible()
    assert capacity_of("bandwidth") == 120_000
    assert Process.objects.filter(holding=True).count() == 2


def test_a_refused_capacity_is_told_at_its_field_and_what_was_typed_stays(limits):
    units(limits, "Bandwidth").fill("48.8")
    units(limits, "Memory").fill("600")
    limits.get_by_role("button", name="Preview").click()

    expect(units(limits, "Bandwidth")).to_have_value("48.8")
    expect(units(limits, "Memory")).to_have_value("600")
    expect(units(limits, "Bandwidth")).to_have_attribute("aria-invalid", "true")
    expect(units(limits, "Bandwidth")).to_have_accessible_description(
        re.compile("More units than this are in use")
    )
    expect(limits.get_by_role("alert")).to_contain_text("Nothing has been changed.")
    expect(limits.get_by_role("button", name="Confirm the change")).to_have_count(0)
    assert (capacity_of("bandwidth"), capacity_of("memory")) == (100_000, 512)


def test_what_is_no_number_is_told_at_its_field_and_stays(limits):
    units(limits, "Memory").fill("plenty")
    limits.get_by_role("button", name="Preview").click()

    expect(units(limits, "Memory")).to_have_value("plenty")
    expect(units(limits, "Memory")).to_have_accessible_description(
        re.compile("must be a size, like 60 or 1.5 GB")
    )


def test_a_claim_is_raised_the_same_way(rivals, browse):
    waiter = Process.objects.get(label="The waiter")
    page = browse("administrator", f"/admin/allocation/process/{waiter.pk}/claim/")
    units(page, "Memory").fill("128")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Confirm the change").click()

    expect(page.get_by_text("Resource limits of The waiter is changed.")).to_be_visible()


@pytest.fixture(params=ONE_SCREEN)
def screen(request, rivals, browse) -> Page:
    return browse(
        "administrator", f"/admin/allocation/pool/{rivals.pk}/capacity/", **SCREENS[request.param]
    )


@pytest.mark.parametrize(
    "bandwidth", ["97.66", "117", "48.8"], ids=["as it is", "previewed", "refused"]
)
def test_the_limits_are_fit_for_every_eye_and_hand(screen, bandwidth):
    units(screen, "Bandwidth").fill(bandwidth)
    with screen.expect_navigation():
        screen.get_by_role("button", name="Preview").click()

    assert violations(screen) == []
    assert screen.evaluate(TOO_WIDE) == 0
