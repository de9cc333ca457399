"""Rendered pages in ReplayWeb.page: each shows what its screenshot shows, and has its text, out of
the archive alone.
"""

from __future__ import annotations

from base64 import b64encode

import pytest
from django.urls import reverse
from playwright.sync_api import Frame, expect
from playwright.sync_api import Page as Window

from allocation.services import add_resource_class
from crawling.archive.reader import rendition_of
from crawling.archive.viewer import document_of
from crawling.models import AllowedNetwork, Page
from crawling.runs.start import start_run
from crawling.web.rendering.tab import SCRIPT
from crawling.web.rendering.types import RenderLimits
from tests.browser.conftest import PATIENCE_MS, session_of
from tests.browser.house import make_crawl
from tests.browser.run.conftest import replay_port  # noqa: F401  # a fixture
from tests.crawling.conftest import OF_BROWSERS, do_shifts, needs_browser  # noqa: F401  # likewise
from tests.crawling.uses.exports.wacz.test_wacz_file import made
from tests.webs.rendered.expected import SITES, ExpectedPage
from tests.webs.rendered.serving import rendered_web

pytestmark = [pytest.mark.usefixtures("needs_browser"), pytest.mark.drill]

WINDOW = {"width": RenderLimits().width, "height": RenderLimits().height}
#: A pixel differs if one of its colours does by more than this, of 255: JPEG blurs the edges of
#: letters. The share of such pixels is at most this
MOST_OF_COLOUR, MOST_PIXELS = 64, 0.0005
#: the share of pixels that differ between two pictures, or null if their sizes differ
DIFFERENCE = """async ([one, other, most]) => {
  const pixels = async (source) => {
    const image = new Image();
    image.src = "data:image/jpeg;base64," + source;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  if (a.width !== b.width || a.height !== b.height) return null;
  let differ = 0;
  for (let at = 0; at < a.data.length; at += 4)
    differ += [0, 1, 2].some((c) => Math.abs(a.data[at + c] - b.data[at + c]) > most);
  return differ / (a.width * a.height);
}"""


@pytest.fixture
def dashboard(chromium, live_server, user_of, pool, replay_port):  # noqa: F811
    """Return a function that opens a page of the dashboard in a window of the screenshots' size."""
    for new in OF_BROWSERS:
        add_resource_class(pool=pool.pk, new=new)
    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    context = chromium.new_context(base_url=live_server.url, viewport=WINDOW)
    context.set_default_timeout(PATIENCE_MS)
    context.add_cookies([session_of(user_of("operator"), live_server.url)])

    def open_page(address: str) -> Window:
        window = context.new_page()
        window.goto(address)
        return window

    yield open_page
    context.close()


def filling_the_window(player: Window) -> Frame:
    """The frame of the stored page, as large as the window, in which no other page is shown."""
    stored = player.frames[-1]
    for frame in (stored.parent_frame, stored):
        frame.frame_element().evaluate(
            "(element) => element.setAttribute('style', "
            "'position: fixed; inset: 0; width: 100vw; height: 100vh; z-index: 99; border: 0;"
            " background: white')"
        )
    return stored


def text_of(stored: Frame) -> str:
    """The text as the crawler's browser reads it, with that of shadow roots."""
    stored.evaluate(SCRIPT.read_text())
    return stored.evaluate("crawlPage.content(1e6).text")


def bring_to_state(stored: Frame, page: ExpectedPage, text: str) -> None:
    """Do the scrolls and clicks after which the crawler's browser has read this text."""
    for number, state in enumerate(page.states):
        if not any(later.text in text for later in page.states[number:]):
            break
        if state.act == "click":
            stored.get_by_role("button", name=state.label, exact=True).click()
        else:
            stored.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(stored.locator("body")).to_contain_text(state.text)
    stored.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("name", SITES)
def test_a_replayed_page_is_as_its_screenshot_and_its_text(name, dashboard):
    with rendered_web(name) as web:
        site = web[name]
        crawl = make_crawl("Replayed", f"{site.url}/", render="always", max_pages=3)
        run = do_shifts(start_run(crawl))
    made(run)
    # fragments are no addresses of their own: the first page is the document's
    known = {page.path.partition("#")[0]: page for page in reversed(site.expected.pages)}
    rows = Page.objects.filter(run=run, status=200).select_related("url", "archive_file")
    stored = {page.url.url.removeprefix(site.url): page for page in rows}
    rendered = [path for path in stored if path in known and rendition_of(stored[path], "view")]
    assert rendered
    for path in rendered:
        page = stored[path]
        player = dashboard(reverse("crawling:replay", args=[run.crawl_id]) + f"?page={page.pk}")
        frames = player.frame_locator("iframe").frame_locator("iframe")
        expect(frames.locator("body")).to_contain_text(known[path].text)
        shown = filling_the_window(player)
        text = document_of(rendition_of(page, "text")).decode()
        bring_to_state(shown, known[path], text)

        assert text_of(shown).split() == text.split(), path
        pictures = document_of(rendition_of(page, "view")), player.screenshot(type="jpeg")
        share = player.context.new_page().evaluate(
            DIFFERENCE, [*(b64encode(one).decode() for one in pictures), MOST_OF_COLOUR]
        )
        assert share is not None, "the pictures have the same size"
        assert share <= MOST_PIXELS, path
