"""A stored page in a real browser: it is to be seen, and it can do nothing."""

from __future__ import annotations

import pytest

from crawling.models import Page as Fetched
from crawling.runs.start import start_run
from tests.browser.house import make_crawl
from tests.browser.test_accessible import faults, open_as  # noqa: F401
from tests.crawling.conftest import do_shifts

HOME = """<title>Home</title><meta http-equiv="refresh" content="1;/spy"><link rel="stylesheet"
href="/spy.css"><style>@import "/spy"; h1 {background: url(/spy.png)}</style><h1 onclick="x()">As it
was</h1><a href="/stored">on</a><img src="/spy.png" alt="spy"><iframe src="/spy"></iframe>
<script>document.querySelector("h1").textContent = "changed"; fetch("/spy")</script>
<noscript><img src="/spy.gif"></noscript><form action="/spy"><input autofocus><button>send</button>
</form>"""
#: the policy alone stops this: CSS has other ways to write an address
SLY = r"""<title>Home</title><style>h1 {background: u\72l(/spy.png)}</style><h1>As it was</h1>
<button>send</button>"""
PLAIN = "<title>Plain</title><h1>Plain</h1>"


@pytest.fixture
def stored(request, make_web, make_site, user_of):
    """The site and the address of its stored home page."""
    make_web()
    site = make_site({"/": request.param}, address="127.0.0.3")
    crawl = make_crawl("Library", f"{site.url}/", by=user_of("operator"))
    do_shifts(start_run(crawl, by=user_of("operator")))
    return (
        site,
        f"/crawls/{crawl.pk}/pages/"
        f"{Fetched.objects.get(run__crawl=crawl, url__url=f'{site.url}/').pk}/",
    )


def look_at(stored, page):
    """Open the stored page and press its button: nothing leaves its frame."""
    site, address = stored
    asked = len(site.log)
    reached = []
    page.on("response", lambda response: reached.append(response.url))

    page.goto(address)
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="send").click()

    assert frame.get_by_role("heading").inner_text() == "As it was"
    assert len(site.log) == asked
    assert not [url for url in reached if "spy" in url]


@pytest.mark.parametrize("stored", [HOME], indirect=True)
def test_a_stored_page_is_seen_and_gives_the_browser_nothing_to_block(stored, operator, watch):
    look_at(stored, operator)

    assert watch.complaints == []


@pytest.mark.parametrize("stored", [SLY], indirect=True)
def test_what_a_stored_page_still_loads_is_blocked(stored, operator, watch):
    look_at(stored, operator)

    (said,), watch.complaints[:] = watch.complaints, []
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
