"""Operators see thumbnails of rendered pages in lists, and the effect of rendering on each."""

import csv
import re
from io import StringIO
from urllib.parse import urlsplit

import pytest

from crawling.dashboard.pages.rendering_filter import RenderingFilter, rendering_counts
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
    "/": SHELL.replace("{}", "app") + "<noscript>without scripts</noscript>",
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


def test_the_rendered_page_is_shown_without_what_is_for_browsers_without_scripts(run, home, viewer):
    shown = viewer.get(f"/crawls/{run.crawl_id}/pages/{home.pk}/content/").content.decode()
    assert "Fine lamps" in shown
    assert "without scripts" not in shown


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
    shown = soup(viewer.get(f"{at}/?rendering=faults"))
    assert [name.get_text() for name in shown.select("td.page .name")] == ["Lamp"]
    assert shown.select_one("select[name=rendering] [selected]")["value"] == "faults"
    listed = viewer.get(f"/api/v1{at}?rendering=faults").json()["items"]
    assert [page["id"] for page in listed] == [home.pk]
    sent = b"".join(viewer.get(f"{at}.jsonl?rendering=faults").streaming_content)
    assert sent.count(b"\n") == 1


def test_lists_and_files_say_what_failed(run, home, site, viewer):
    at, missing = f"/crawls/{run.crawl_id}/pages", f"{site.url}/missing.png"
    shown = soup(viewer.get(f"{at}/?rendering=faults")).select_one("td.page").get_text()
    assert re.search(rf"1 failed request and \d console errors?: {missing}: 404", shown)
    sent = b"".join(viewer.get(f"{at}.csv?rendering=faults").streaming_content).decode()
    (row,) = csv.DictReader(StringIO(sent))
    assert row["failed_requests"] == "1" <= row["console_errors"]
    assert row["first_fault"].startswith(f"{missing}: 404")


def test_what_the_crawl_refused_is_told_in_words(run, home, viewer):
    home.rendition["failed"] = [["http://127.0.0.1/data.json", "by_robots"]]
    home.save()
    told = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/{home.pk}/")).select_one(".rendition")
    assert "data.json refused by robots.txt" in told.get_text()


def listed(viewer, run, kind):
    """The pages with a state of rendering, as their page, JSON and CSV have them."""
    at = f"/crawls/{run.crawl_id}/pages"
    shown = soup(viewer.get(f"{at}/?rendering={kind}")).select("td.page .name")
    told = viewer.get(f"/api/v1{at}?rendering={kind}").json()["items"]
    sent = b"".join(viewer.get(f"{at}.csv?rendering={kind}").streaming_content).decode()
    rows = csv.DictReader(StringIO(sent))
    titles = [name["title"] for name in shown]
    assert [one["url"] for one in told] == [one["url"] for one in rows]
    assert sorted(titles) == sorted(one["url"] for one in told)
    return {urlsplit(url).path for url in titles}


def test_pages_are_listed_and_counted_by_their_rendering(run, home, viewer):
    def all_listed():
        return {kind.value: listed(viewer, run, kind.value) for kind in RenderingFilter}

    none = {kind.value: set() for kind in RenderingFilter}
    found = none | {"rendered": {"/"}, "unrendered": {"/lamp"}, "faults": {"/"}}
    assert all_listed() == found

    Page.objects.filter(pk=home.pk).update(rendering=-50, needs_browser=True, rendition=None)
    found = none | {"unrendered": {"/", "/lamp"}, "lacking": {"/"}, "ended": {"/"}}
    assert all_listed() == found
    assert rendering_counts(run) == {kind: len(pages) for kind, pages in found.items()}
    told = viewer.get(f"/api/v1/crawls/{run.crawl_id}/renderings").json()
    assert told == {kind: len(pages) for kind, pages in found.items()}
    panel = soup(viewer.get(f"/crawls/{run.crawl_id}/?overview")).select("#renderings + dl a")
    assert [(link["href"].rpartition("=")[2], link.get_text()) for link in panel] == [
        (kind, str(len(pages))) for kind, pages in found.items()
    ]

    Page.objects.filter(pk=home.pk).update(rendering=None)
    assert listed(viewer, run, "lacking") == {"/"}
    assert listed(viewer, run, "unrendered") == {"/lamp"}
