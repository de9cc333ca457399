"""Crawls whose pages a real browser renders, from a real site on loopback."""

import json
from collections import Counter

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawling.datasets.seen_text import seen_text
from crawling.datasets.stored_documents import stored_document
from crawling.fetching.pipeline.page_browser import MIB
from crawling.fetching.shift import browser as shift_browser
from crawling.models import ArchiveFile, Page
from crawling.orders.rendering import Rendering
from crawling.uses.withdrawals.file_removal import remove_records
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from crawling.web.rendering.process import BrowserProcess
from crawling.web.statuses import FetchStatus
from tests.servers import serve_site

SHELL = """<!doctype html><title>Shop</title><div id=app></div><script src=/app.js></script>"""
SCRIPT = """
fetch("/items.json").then(answer => answer.json()).then(items => {
  document.title = "Shop of " + items.length;
  for (const item of items) {
    const link = document.createElement("a");
    link.href = item.path; link.textContent = item.name;
    document.getElementById("app").append(link, " is a very good thing that you want to have. ");
  }
});
"""
NO_SCRIPT = "User-agent: *\nDisallow: /app.js"
CORS = {"Content-Type": "text/plain", "Access-Control-Allow-Origin": "*"}
ITEMS = [{"path": f"/item-{n}", "name": f"Item {n}"} for n in range(3)]
PLAIN = "<title>Item</title><p>" + "A long description of the item that needs no script. " * 20


def script(text):
    return 200, {"Content-Type": "text/javascript"}, text


pytestmark = pytest.mark.usefixtures("needs_browser", "browsers")


class LastingBrowser(BrowserProcess):
    """A browser that no shift ends."""

    def end(self) -> None:
        pass


@pytest.fixture(scope="module")
def browser(needs_browser):
    browser = LastingBrowser(memory_bytes=512 * MIB)
    yield browser
    BrowserProcess.end(browser)


@pytest.fixture
def crawl_in_one_browser(browser, crawl_to_the_end, monkeypatch):
    """As `crawl_to_the_end`, by a browser that is started once for the module: the start takes
    longer than most of these crawls.
    """
    monkeypatch.setattr(shift_browser, "BrowserProcess", lambda **_: browser)
    return crawl_to_the_end


@pytest.fixture
def shop():
    pages = {
        "/": SHELL,
        "/app.js": (200, {"Content-Type": "text/javascript"}, SCRIPT),
        "/items.json": (200, {"Content-Type": "application/json"}, json.dumps(ITEMS)),
        **{item["path"]: PLAIN for item in ITEMS},
    }
    with serve_site(pages) as site:
        yield site


def test_links_that_scripts_make_are_followed(shop, crawl_to_the_end):
    run = crawl_to_the_end(shop.url, render="when_needed")

    pages = {page.url.url: page for page in Page.objects.filter(run=run).select_related("url")}
    assert {url.removeprefix(shop.url) for url in pages} == {"/", "/item-0", "/item-1", "/item-2"}
    home = pages.pop(f"{shop.url}/")
    assert home.rendering == Rendering.MOUNT
    assert home.title == "Shop of 3"
    assert {page.rendering for page in pages.values()} == {Rendering.NOT_NEEDED}


def records_of(run):
    """The types and addresses of the records in the run's WARC files."""
    found = []
    for file in ArchiveFile.objects.filter(run=run):
        with file.path.open("rb") as stream:
            found += [
                (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"))
                for record in ArchiveIterator(stream)
            ]
    return found


def test_files_pictures_and_the_rendered_page_are_archived(shop, crawl_in_one_browser):
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    records = records_of(run)
    for path in ("/", "/app.js", "/items.json"):
        assert ("response", f"{shop.url}{path}") in records
        assert ("request", f"{shop.url}{path}") in records
    for kind in ("dom", "text", "view", "thumbnail"):
        assert ("resource", f"urn:{kind}:{shop.url}/") in records


def test_a_page_is_fetched_once_and_its_files_once_a_shift(shop, crawl_in_one_browser):
    shop.pages["/item-0"] = SHELL
    crawl_in_one_browser(shop.url, render="when_needed")

    assert sorted(shop.paths) == sorted({*shop.paths})


def test_robots_txt_holds_for_files_unless_the_order_says_otherwise(shop, crawl_in_one_browser):
    shop.pages["/robots.txt"] = (200, {"Content-Type": "text/plain"}, NO_SCRIPT)

    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)
    assert "/app.js" not in shop.paths
    assert Page.objects.get(run=run).title == "Shop"

    run = crawl_in_one_browser(
        shop.url, render="always", max_pages=1, name="another", render_obeys_robots=False
    )
    assert "/app.js" in shop.paths
    assert Page.objects.get(run=run).title == "Shop of 3"


def test_what_the_order_excludes_is_no_file_of_a_page(shop, crawl_in_one_browser):
    crawl_in_one_browser(shop.url, render="always", max_pages=1, exclude=["items[.]json"])

    assert "/app.js" in shop.paths
    assert "/items.json" not in shop.paths


def test_a_script_posts_with_its_own_type_and_headers(shop, crawl_in_one_browser):
    shop.pages["/app.js"] = script(
        'fetch("/api", {method: "POST", body: "<a/>", headers: {"content-type": "text/xml", '
        '"x-token": "t"}}).then(answer => answer.text()).then(text => document.title = text)'
    )
    shop.pages["/api"] = (200, {"Content-Type": "text/plain"}, "posted")
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    (asked,) = [request for request in shop.log if request.path == "/api"]
    assert (asked.method, asked.body) == ("POST", b"<a/>")
    assert asked.headers["Content-Type"] == "text/xml"
    assert asked.headers["X-Token"] == "t"
    assert asked.user_agent == shop.log[0].user_agent
    assert Page.objects.get(run=run).title == "posted"


def test_a_script_leads_the_window_to_no_other_host(shop, crawl_in_one_browser):
    with serve_site({"/": "elsewhere"}, address="127.0.0.2") as other:
        shop.pages["/app.js"] = script(f'location.href = "{other.url}/"')
        crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert not other.log


def test_files_of_another_host_come_from_allowed_addresses_only(shop, crawl_in_one_browser):
    with serve_site({"/data": (200, CORS, "far")}, address="127.0.0.2") as other:
        shop.pages["/app.js"] = script(
            f'fetch("{other.url}/data").then(answer => answer.text()).then('
            "text => document.title = text);"
            'fetch("http://169.254.169.254/latest/").catch(() => 0)'
        )
        run = crawl_in_one_browser(shop.url, render="always", max_pages=1)

    assert Page.objects.get(run=run).title == "far"
    assert [request.path for request in other.log if request.path != "/robots.txt"] == ["/data"]


def test_a_host_rests_after_a_page_as_after_a_fetch(shop, crawl_in_one_browser):
    shop.pages["/item-0"] = SHELL
    crawl_in_one_browser(shop.url, render="always", max_pages=2, delay_seconds=0.7)

    asked = [request.at for request in shop.log if request.path.startswith("/item-")]
    before = max(request.at for request in shop.log if request.at < asked[0])
    assert asked[0] - before >= 0.7


def test_pages_beyond_the_limit_are_read_as_they_are(shop, crawl_in_one_browser):
    for path in ("/item-0", "/item-1", "/item-2"):
        shop.pages[path] = SHELL
    run = crawl_in_one_browser(shop.url, render="always", render_pages=2)

    counts = Counter(Page.objects.filter(run=run).values_list("rendering", flat=True))
    assert counts == {Rendering.ALWAYS: 2, Rendering.LIMIT: 2}


def test_a_page_that_takes_too_long_is_read_as_it_was_sent(shop, crawl_in_one_browser):
    shop.pages["/app.js"] = script("while (true);")
    run = crawl_in_one_browser(shop.url, render="always", render_seconds=2)

    page = Page.objects.get(run=run)
    assert page.rendering == FetchStatus.RENDER_TIMED_OUT
    assert page.status == 200
    assert page.title == "Shop"


def test_a_withdrawal_removes_what_the_browser_made_of_the_page(shop, crawl_in_one_browser):
    run = crawl_in_one_browser(shop.url, render="always", max_pages=2)
    asked = {"kind": "page", "text": f"{shop.url}/", "reason": "asked for", "by": None}
    remove_records(withdraw_pages(run.crawl, run, **asked, at_once=True).pk)

    left = {url for _, url in records_of(run) if url}
    assert not any(url.endswith(f"{shop.url}/") for url in left)
    assert any(url.startswith("urn:view:") for url in left)


def test_what_is_read_of_a_stored_page_is_what_the_browser_made(
    shop, crawl_in_one_browser, admin_client
):
    run = crawl_in_one_browser(shop.url, render="always", max_pages=1)
    page = Page.objects.get(run=run)

    with stored_document(run, page) as source:
        assert b"Item 2" in source.body.read()
    assert "Item 2" in seen_text(page).text
    assert page.rendition["requests"] == 2
    at = f"/crawls/{run.crawl_id}/pages/{page.pk}"
    assert b"Item 2" in admin_client.get(f"{at}/content/").content
    assert "2 files" in admin_client.get(f"{at}/").content.decode()
    for kind in ("view", "thumbnail"):
        picture = admin_client.get(f"{at}/picture/{kind}/")
        assert picture["Content-Type"] == "image/jpeg"
        assert picture.content.startswith(b"\xff\xd8")
    assert admin_client.get(f"{at}/picture/dom/").status_code == 404
