"""Unsafe limits are put through, flagged on every page and cleared again, in a browser; axe-core
finds nothing to say about it.
"""

from __future__ import annotations

from uuid import uuid4

import pytest
from playwright.sync_api import expect

from allocation.models import Pool
from allocation.services import (
    NewClass,
    create_pool,
    register_process,
    request_resources,
    set_capacity,
)
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, faults


@pytest.fixture
def drives(pool) -> Pool:
    """S2, with one that waits for safety and one for what is not there: a cut from twelve to eleven
    is unsafe.
    """
    tape = create_pool(
        name="tape", classes=[NewClass("tape_drives", "drives", "Tapes turn in them.", 12)]
    )
    for label, most, now in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2), ("late", 6, 6)):
        process = register_process(
            pool=tape.pk, label=label, run_ref="", maximum={"tape_drives": most}
        )
        request_resources(process=process.pk, amounts={"tape_drives": now}, request_id=uuid4())
    return tape


def test_an_administrator_puts_an_unsafe_limit_through_and_every_page_says_so_until_it_is_safe(
    drives, browse
):
    page = browse("administrator", f"/admin/allocation/pool/{drives.pk}/capacity/")
    page.get_by_label("Tape drives (drives)").fill("11")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("Not sure to finish: P0, P2.")).to_be_visible()
    page.get_by_label("Why it must be all the same").fill("A drive broke.")
    with page.expect_navigation():
        page.get_by_role("button", name="Override the safety check").click()

    for address in ("/crawls/", "/resources/", "/admin/"):
        page.goto(address)
        expect(page.locator("[data-alarm]")).to_contain_text(
            "Put through by administrator: A drive broke."
        )
    page.locator("[data-alarm]").get_by_role("link", name="tape").click()
    expect(page.get_by_role("heading", name="Resources: tape")).to_be_visible()

    set_capacity(pool=drives.pk, capacity={"tape_drives": 12})
    page.goto("/crawls/")
    expect(page.locator("[data-alarm]")).to_have_count(0)


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_the_alarm_the_waits_and_the_override_are_accessible(drives, browse, screen):
    page = browse("administrator", **SCREENS[screen])
    request = drives.processes.get(label="P2")
    request_resources(
        process=request.pk,
        amounts={"tape_drives": 1},
        request_id=uuid4(),
        kind="growth",
        epoch=request.epoch,
    )
    found = faults(page, f"/resources/{drives.pk}/")
    Pool.objects.filter(pk=drives.pk).update(is_safe=False)
    for address in (f"/resources/{drives.pk}/", "/crawls/", "/nowhere/"):
        found += faults(page, address, status=404 if address == "/nowhere/" else 200)

    assert not found, "\n".join(found)
