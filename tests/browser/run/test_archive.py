"""A stored page in a real browser: it is to be seen, and it can do nothing."""

from __future__ import annotations

import pytest

from crawling.crawls.creation import start_run
from crawling.models import Page as Fetched
from tests.browser.house import make_crawl, work_off
from tests.browser.test_accessible import faults, open_as  # noqa: F401

HOME = """<title>Home</title><h1>As it was</h1><a href="/stored">on</a><img src="/spy.png">
<script>document.querySelector("h1").textContent = "changed"; fetch("/spy")</script>
<form action="/spy"><button>send</button></form>"""


PLAIN = "<title>Plain</title><h1>Plain</h1>"


@pytest.fixture
def stored(request, make_web, make_site, user_of):
    """The site and the address of its stored home page."""
    make_web()
    site = make_site({"/": request.param}, address="127.0.0.3")
    crawl = make_crawl("Library", f"{site.url}/", by=user_of("operator"))
    work_off(start_run(crawl, by=user_of("operator")))
    return (
        site,
        f"/crawls/{crawl.pk}/pages/"
        f"{Fetched.objects.get(run__crawl=crawl, url__url=f'{site.url}/').pk}/",
    )


@pytest.mark.parametrize("stored", [HOME], indirect=True)
def test_a_stored_page_is_seen_and_does_nothing(stored, operator, watch):
    site, address = stored
    asked = len(site.log)
    reached = []
    operator.on("response", lambda response: reached.append(response.url))

    operator.goto(address)
    frame = operator.frame_locator("iframe")
    frame.get_by_role("button", name="send").wait_for()

    assert frame.get_by_role("heading").inner_text() == "As it was"
    frame.get_by_role("button", name="send").click()
    assert len(site.log) == asked
    assert not [url for url in reached if "spy" in url]
    assert all(
        complaint.startswith("console: ") and "/content/" in complaint
        for complaint in watch.complaints
    )
    said, watch.complaints[:] = "\n".join(watch.complaints), []
    assert "Blocked script execution" in said
    assert "Blocked form submission" in said
    assert "Content Security Policy" in said


#: axe-core would look into the frame as well, which lets nothing in; Chromium says so in one way or
#: the other
AXE_IN_THE_FRAME = ("console: Blocked script execution", "console: Failed to execute 'postMessage'")


@pytest.mark.parametrize("stored", [PLAIN], indirect=True)
def test_its_pages_are_accessible(stored, open_as, watch):  # noqa: F811
    _, address = stored
    crawl = address.split("/pages/")[0]

    found = [
        fault
        for one in (address, f"{crawl}/archive/", f"{crawl}/pages/")
        for fault in faults(open_as("operator"), one)
    ]
    assert not found, "\n".join(found)
    assert all(complaint.startswith(AXE_IN_THE_FRAME) for complaint in watch.complaints)
    watch.complaints.clear()
