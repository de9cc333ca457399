"""Every page of the table of routes, narrow and dark, enlarged and light: nothing for axe-core to
find, nothing to scroll sideways for, nothing too small for a finger.
"""

from __future__ import annotations

import pytest

from crawling.models import Page
from tests.browser.axe import on_all_pages
from tests.browser.design import small_targets
from tests.browser.run.test_archive import AXE_IN_THE_FRAME
from tests.browser.test_accessible import faults
from tests.every_page import DATA, addresses, furnish, use_pages

#: 320 px is the narrowest that must do; a window of 1280 px enlarged to 200 % has 640, at two
#: device pixels each
NARROW = {"color_scheme": "dark", "viewport": {"width": 320, "height": 640}}
ENLARGED = {
    "has_touch": True,
    "color_scheme": "light",
    "viewport": {"width": 640, "height": 450},
    "device_scale_factor": 2,
}


@pytest.fixture
def values(make_web, make_site, user_of):
    make_web()
    by = user_of("administrator")
    values = furnish(make_site({}), by=by, data=DATA)
    use_pages(Page.objects.get(pk=values["url"]), by=by)
    return values


@pytest.mark.timeout(600)  # a hundred pages, each judged whole, for a second of the processor
@pytest.mark.parametrize(
    ("screen", "asked"),
    [
        pytest.param(NARROW, False, id="narrow"),
        pytest.param(NARROW, True, id="narrow and asked", marks=pytest.mark.drill),
        pytest.param(ENLARGED, True, id="enlarged and asked", marks=pytest.mark.drill),
    ],
)
def test_every_page_is_fit_for_every_screen(browse, values, screen, asked, watch):
    page = browse("administrator", **screen)
    on_all_pages(page)

    found = [
        fault
        for address in addresses(values, asked=asked)
        for fault in [*faults(page, address), *small_targets(page)]
    ]
    assert not found, "\n".join(found)
    assert all(complaint.startswith(AXE_IN_THE_FRAME) for complaint in watch.complaints)
    watch.complaints.clear()
