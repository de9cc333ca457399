"""The bank's past in a browser: gone through by keyboard, and fit for every eye and hand."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from allocation.models import Event
from allocation.services import register_process, request_resources
from tests.browser.house import MOST
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, TOO_WIDE, faults


@pytest.fixture
def address(pool) -> str:
    """Five events: the pool is made, two are registered and ask for most of the bandwidth; the
    second waits.
    """
    for label in ("The holder", "The waiter"):
        process = register_process(
            pool=pool.pk, label=label, run_ref="", maximum={**MOST, "worker": 1, "fetch_slots": 8}
        )
        request_resources(process=process.pk, amounts={**MOST, "worker": 1}, request_id=uuid4())
    return f"/resources/{pool.pk}/history/"


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_history_has_nothing_for_axe_to_find(browse, address, screen):
    page = browse("viewer", **SCREENS[screen])

    versions = Event.objects.filter(kind__in=["created", "granted", "waiting"]).values_list(
        "version", flat=True
    )
    found = [fault for version in versions for fault in faults(page, f"{address}?event={version}")]
    page.get_by_text("The same in numbers").click()

    assert (found, page.evaluate(TOO_WIDE)) == ([], 0)


def test_history_is_gone_through_by_keyboard_without_scripts(browse, address):
    page = browse("viewer", f"{address}?event=1", java_script_enabled=False)

    for key in ("Forward", "Next wait"):
        page.get_by_role("link", name=key, exact=True).focus()
        with page.expect_navigation():
            page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text("event 5 of 5")
    expect(page.get_by_text("request made to wait").first).to_be_visible()
    page.get_by_label("Kind").select_option("granted")
    page.get_by_role("button", name="Show").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("kind=granted"))
