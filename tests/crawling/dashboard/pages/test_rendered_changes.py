"""Two runs of a rendered site: pages whose scripts bring something else have changed, though the
server's answer has not, and their pictures are compared.
"""

from base64 import b64decode

import pytest
from django.urls import reverse

from crawling.jobs.running import run_job
from crawling.models import Inquiry, InquiryKind, Page, Run
from tests.crawling.pages import browser, soup
from tests.crawling.rendered import crawl_lamp_twice, serve_lamp


@pytest.fixture(scope="module")
def site(shared):
    return serve_lamp(shared)


@pytest.fixture(scope="module")
def crawled(site, shared, crawl_once, needs_browser):
    return crawl_lamp_twice(site, shared, crawl_once)


@pytest.fixture
def pages(crawled, db, site):
    """The page whose script changed, in both runs."""
    found = Page.objects.filter(run__crawl=crawled.pk, url__url=f"{site.url}/")
    return [page.pk for page in found.order_by("run")]


@pytest.fixture
def viewer(db):
    return browser("viewer")


def test_a_page_whose_script_brings_another_text_has_changed(crawled, site, viewer):
    address = reverse("crawling:compare", args=[crawled.pk])
    rows = soup(viewer.get(f"{address}?kind=changed")).select("a[aria-label^='diff of']")
    assert [row["aria-label"] for row in rows] == [f"diff of the text of {site.url}/"]


def test_pictures_of_two_runs_are_compared(crawled, pages, viewer):
    address = reverse("crawling:compare-page", args=[crawled.pk, *pages])
    beside = [part["hx-get"] for part in soup(viewer.get(address)).select("[hx-get]")]
    assert beside == [f"{address}pictures/", address]
    assert "are being compared" in viewer.get(beside[0]).content.decode()
    run_job(Inquiry.objects.get(kind=InquiryKind.PICTURE_DIFF).pk)

    shown = soup(viewer.get(beside[0]))
    share = float(shown.select_one("section > p").get_text().split(" %")[0])
    assert share == pytest.approx(100 * 640 * 400 / (1280 * 800), abs=0.5)
    *captures, marked = (image["src"] for image in shown.select(".pictures img"))
    assert captures == [f"/crawls/{crawled.pk}/pages/{page}/picture/view/" for page in pages]
    told = viewer.get(f"/api/v1/crawls/{crawled.pk}/changes/{pages[0]}/{pages[1]}/pictures").json()
    assert marked == f"data:image/jpeg;base64,{told['marked']}"
    assert b64decode(told["marked"]).startswith(b"\xff\xd8")


def test_pages_without_pictures_have_none_to_compare(crawled, pages, viewer):
    Page.objects.filter(pk=pages[0]).update(rendition=None)
    address = reverse("crawling:compare-page", args=[crawled.pk, *pages])
    assert "pictures" not in str(soup(viewer.get(address)).select("[hx-get]"))
    assert viewer.get(f"{address}pictures/").status_code == 404
    assert Run.objects.filter(crawl=crawled.pk).count() == 2
