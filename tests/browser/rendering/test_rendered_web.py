"""A visitor of the rendered sites sees what `tests/webs/rendered/expected.py` says, and hostile
pages do what they are there for. No crawler takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest
from playwright.sync_api import Browser, Error, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.conftest import PATIENCE_MS
from tests.webs.rendered.expected import SITES, ExpectedPage, ExpectedSite
from tests.webs.rendered.hostile import (
    AFTER,
    GPU_CRASH,
    RENDERER_CRASH,
    HostileWeb,
    hostile_web,
)
from tests.webs.rendered.serving import rendered_web

each_site = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@pytest.fixture(scope="module")
def web():
    with rendered_web() as sites:
        yield sites


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def links(page: Page) -> set[str]:
    """The addresses of all links that are shown, in open shadow roots too."""
    addresses = "all => all.map(a => a.pathname + a.search + a.hash)"
    return set(page.locator("a[href]:visible").evaluate_all(addresses))


def check_page(page: Page, url: str, expected: ExpectedPage) -> None:
    page.goto(f"{url}{expected.path}")
    expect(page.get_by_text(expected.text, exact=True)).to_be_visible()
    assert links(page) == expected.links
    for state in expected.states:
        if state.act == "click":
            page.get_by_role("button", name=state.label).click()
        else:
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.get_by_text(state.text, exact=True)).to_be_visible()
        assert page.url == f"{url}{state.path}"
        assert links(page) == state.links


def distinct_pages(site: ExpectedSite) -> list[ExpectedPage]:
    """Lists and the like, and of the pages of birds, which are alike, the first and the last."""
    birds = [page for page in site.pages if ", shown by " in page.text]
    return [page for page in site.pages if page not in birds[1:-1]]


@each_site
def test_a_visitor_sees_the_links_sentences_and_states_that_are_expected(
    page: Page, web, site: ExpectedSite
):
    for expected in distinct_pages(site):
        if "#" in expected.path:  # a change of the fragment alone would load nothing
            page.goto("about:blank")
        check_page(page, web[site.name].url, expected)

    data = [path for path in web[site.name].counts if path.startswith(("/data/", "/fragments/"))]
    assert bool(data) == site.fetches


@pytest.mark.drill
@each_site
def test_a_visitor_of_every_page_sees_what_is_expected(page: Page, web, site: ExpectedSite):
    for expected in site.pages:
        page.goto("about:blank")
        check_page(page, web[site.name].url, expected)


@pytest.fixture
def hostile() -> Iterator[HostileWeb]:
    with hostile_web() as web:
        yield web


def processes(kind: str = "") -> dict[int, int]:
    """The resident bytes of each process below this one whose command line has `kind`."""
    found = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if kind in " ".join(process.cmdline()):
                found[process.pid] = process.memory_info().rss
    return found


def check_it_works(chromium: Browser, hostile: HostileWeb) -> None:
    """Another page shows its sentence."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(hostile.url("after"))
    expect(page.get_by_text(AFTER)).to_be_visible()
    context.close()


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("alerts", "dialog"),
        ("chain", "popup"),
        ("console", "console"),
        ("downloads", "download"),
        ("nested", "crash"),
        ("popups", "popup"),
        ("sockets", "websocket"),
    ],
)
def test_a_hostile_page_makes_the_events_it_is_there_for(
    chromium: Browser, page: Page, hostile: HostileWeb, name: str, event: str
):
    with page.expect_event(event):
        page.goto(hostile.url(name), wait_until="commit")

    page.context.close()
    check_it_works(chromium, hostile)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("permissions", "/silence.wav"),
        ("redirects", "/redirects.html?n=20"),
        pytest.param("requests", "/many?n=1000", marks=pytest.mark.drill),
        ("unsettled", "/poll?n=5"),
    ],
)
def test_a_hostile_page_sends_the_requests_it_is_there_for(
    page: Page, hostile: HostileWeb, name: str, path: str
):
    with page.expect_request(f"{hostile.site.url}{path}"):
        page.goto(hostile.url(name), wait_until="commit")


def test_a_page_that_reaches_another_loopback_address_is_told_by_the_canary(
    page: Page, hostile: HostileWeb
):
    with page.expect_response(f"{hostile.canary.url}/fetch"):
        page.goto(hostile.url("inside"), wait_until="commit")

    assert "/fetch" in hostile.canary.paths


def test_a_hostile_page_registers_a_service_worker(page: Page, hostile: HostileWeb):
    with page.context.expect_event("serviceworker"):
        page.goto(hostile.url("service"))


@pytest.mark.drill
def test_a_hostile_page_floods_the_history(page: Page, hostile: HostileWeb):
    page.goto(hostile.url("history"), wait_until="commit")

    page.wait_for_function("history.length > 30")


def test_a_hostile_page_asks_to_stay_when_it_is_left(page: Page, hostile: HostileWeb):
    page.goto(hostile.url("unload"))
    page.get_by_text("hostile").click()  # no page may ask before its visitor has done something

    with page.expect_event("dialog") as asked:
        page.close(run_before_unload=True)

    assert asked.value.type == "beforeunload"
    asked.value.dismiss()


def test_a_hostile_page_is_never_parsed_to_the_end(page: Page, hostile: HostileWeb):
    with pytest.raises(PlaywrightTimeout):
        page.goto(hostile.url("loop"), wait_until="domcontentloaded", timeout=500)


def test_a_driver_can_end_the_renderer_of_a_page(
    chromium: Browser, page: Page, hostile: HostileWeb
):
    with page.expect_event("crash"), pytest.raises(Error, match="ERR_ABORTED"):
        page.goto(RENDERER_CRASH)

    page.context.close()
    check_it_works(chromium, hostile)


def test_a_driver_can_end_the_gpu_process(chromium: Browser, page: Page, hostile: HostileWeb):
    before = processes("--type=gpu-process")
    chromium.new_browser_cdp_session().send(GPU_CRASH)

    while before.keys() & processes("--type=gpu-process"):  # the answer comes before the end
        page.wait_for_timeout(20)
    check_it_works(chromium, hostile)


@pytest.mark.drill
@pytest.mark.parametrize("name", ["buffers", "canvas", "dom", "heap", "wasm"])
def test_a_hostile_page_takes_memory_until_it_is_closed(
    chromium: Browser, page: Page, hostile: HostileWeb, name: str
):
    before = sum(processes().values())
    page.goto(hostile.url(name), wait_until="commit")

    while sum(processes().values()) < before + (400 << 20):  # nothing announces it
        page.wait_for_timeout(20)
    page.context.close()
    check_it_works(chromium, hostile)
