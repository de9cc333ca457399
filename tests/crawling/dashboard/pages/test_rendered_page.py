"""Operators see thumbnails of rendered pages in lists, and the effect of rendering on each."""

import pytest

from crawling.dashboard.pages.stored_view import SAFE
from crawling.datasets.catch_up import catch_up
from crawling.jobs.running import run_job
from crawling.models import Inquiry, Page, Run
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.crawling.pages import browser, soup
from tests.crawling.reading import read_to_the_end
from tests.crawling.rendered import SHELL, add_browsers, script

SCRIPT = """
document.getElementById("app").innerHTML =
  '<h1>Fine lamps</h1><p>They light a room of any size.</p><a href="/lamp">A lamp</a>' +
  '<img src="/missing.png">';
console.error("no lamp is lit");
"""
PAGES = {
    "/": SHELL.replace("{}", "app"),
    "/app.js": script(SCRIPT),
    "/lamp": "<title>Lamp</title><p>" + "A long description that needs no script. " * 30,
}


@pytest.fixture(scope="module")
def site(shared):
    return shared.serve(PAGES)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once, needs_browser):
    def read(run):
        catch_up(run.pk)
        read_to_the_end(run)

    shared.do(add_browsers)
    run = crawl_once(f"{site.url}/", render="when_needed")
    shared.do(read, run)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.select_related("crawl").get(pk=crawled.pk)


@pytest.fixture
def home(run, site):
    return Page.objects.select_related("url").get(run=run, url__url=f"{site.url}/")


@pytest.fixture
def viewer(db):
    return browser("viewer")


def pictures(answer):
    """The addresses of thumbnails on a page."""
    return [image["src"] for image in soup(answer).select("a.thumbnail > img")]


def test_rendered_pages_have_thumbnails_in_lists(run, home, viewer):
    address = f"/crawls/{run.crawl_id}/pages/{home.pk}/picture/"
    table = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/")).select_one("table.fetched")
    images = table.select("img")
    assert [image["src"] for image in images] == [f"{address}thumbnail/"]
    assert images[0]["loading"] == "lazy"
    assert images[0].parent["href"] == f"{address}view/"
    assert len({len(row.select("td, th")) for row in table.select("tr")}) == 1

    for search in ("/search/?q=Lamp", "/search/text/?q=lamps"):
        assert pictures(viewer.get(search)) == [f"{address}thumbnail/"]


def test_the_column_of_pictures_can_be_hidden(run, viewer):
    address = f"/crawls/{run.crawl_id}/pages/"
    asked = {"time_zone": "UTC", "hidden_columns": {"pages": ["picture"]}}
    kept = viewer.get("/api/v1/preferences").json() | asked
    assert pictures(viewer.get(address))
    viewer.put("/api/v1/preferences", kept, content_type="application/json")
    assert not pictures(viewer.get(address))


def test_a_list_without_pictures_has_no_column_for_them(run, viewer):
    table = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/?q=/lamp")).select_one("table.fetched")
    assert "Picture" not in table.get_text()


def test_a_picture_is_kept_by_browsers_for_a_while_and_does_nothing_there(run, home, viewer):
    address = f"/crawls/{run.crawl_id}/pages/{home.pk}/picture/thumbnail/"
    answer = viewer.get(address)
    assert answer["Content-Type"] == "image/jpeg"
    assert answer["Content-Security-Policy"] == SAFE
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, max-age=300"

    again = viewer.get(address, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_withdrawn_page_has_no_picture(run, home, viewer):
    address = f"/crawls/{run.crawl_id}/pages/{home.pk}/picture/thumbnail/"
    etag = viewer.get(address)["ETag"]
    asked = {"kind": "page", "text": home.url.url, "reason": "asked for", "by": None}
    withdraw_pages(run.crawl, run, **asked, at_once=True)

    assert viewer.get(address, headers={"If-None-Match": etag}).status_code == 410
    assert not pictures(viewer.get(f"/crawls/{run.crawl_id}/pages/"))


def test_the_page_of_a_rendered_page_says_what_rendering_brought(run, home, site, viewer):
    stored = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/{home.pk}/"))
    (address,) = [part["hx-get"] for part in stored.select("[hx-get]")]
    assert "being compared" in viewer.get(address).content.decode()
    (inquiry,) = Inquiry.objects.all()
    run_job(inquiry.pk)

    effect = soup(viewer.get(address, headers={"HX-Request": "true"})).select_one(".effect")
    rows = [[cell.get_text() for cell in row] for row in effect.select("tbody tr")]
    assert rows == [["Links", "0", "1"], ["Words", "1", "12"]]
    assert [link.get_text() for link in effect.select("li a")] == [f"{site.url}/lamp"]
    assert [added.get_text() for added in effect.select("ins")] == [
        "Fine lamps",
        "They light a room of any size.",
        "A lamp",
    ]

    told = viewer.get(f"/api/v1/crawls/{run.crawl_id}/pages/{home.pk}/rendering").json()
    assert told["plain"] == {"links": 0, "words": 1}
    assert told["new_links"] == [f"{site.url}/lamp"]


def test_links_to_withdrawn_pages_are_left_out_of_what_rendering_brought(run, home, site, viewer):
    asked = {"kind": "page", "text": f"{site.url}/lamp", "reason": "asked for", "by": None}
    withdraw_pages(run.crawl, run, **asked, at_once=True)
    address = f"/crawls/{run.crawl_id}/pages/{home.pk}/rendering/"
    viewer.get(address)
    run_job(Inquiry.objects.get().pk)

    assert not soup(viewer.get(address)).select(".effect li")


def test_a_plain_page_has_no_effect_of_rendering(run, viewer):
    plain = Page.objects.get(run=run, rendition__isnull=True)
    assert viewer.get(f"/crawls/{run.crawl_id}/pages/{plain.pk}/rendering/").status_code == 404


def test_console_and_failed_requests_are_on_the_page_and_in_json(run, home, site, viewer):
    stored = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/{home.pk}/"))
    told = stored.select_one(".rendition").get_text()
    assert "no lamp is lit" in told
    assert f"{site.url}/missing.png" in told

    noted = viewer.get(f"/api/v1/crawls/{run.crawl_id}/pages/{home.pk}").json()["rendition"]
    assert noted["failed"] == [[f"{site.url}/missing.png", "404"]]
    assert any("no lamp is lit" in line for line in noted["console"])


def test_pages_with_faults_in_the_browser_are_listed(run, home, viewer):
    at = f"/crawls/{run.crawl_id}/pages"
    shown = soup(viewer.get(f"{at}/?faults=1"))
    assert [name.get_text() for name in shown.select("td.page .name")] == ["Lamp"]
    assert shown.select_one("select[name=faults] [selected]")["value"] == "1"
    listed = viewer.get(f"/api/v1{at}?faults=true").json()["items"]
    assert [page["id"] for page in listed] == [home.pk]
    sent = b"".join(viewer.get(f"{at}.jsonl?faults=1").streaming_content)
    assert sent.count(b"\n") == 1
