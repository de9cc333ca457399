"""Users of a crawl that renders nothing are told which of its pages need a browser."""

import pytest
from django.urls import reverse

from crawling.models import Page, Run
from tests.crawling.pages import browser, soup
from tests.crawling.rendered import SHELL

LONG = "<title>Item</title><p>" + "A long description that needs no script. " * 30


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    links = "".join(f"<a href=/{number}>{number}</a>" for number in range(8))
    items = {f"/{number}": LONG for number in range(8)}
    site = shared.serve({"/": f"{LONG}{links}<a href=/app>app</a>", "/app": SHELL, **items})
    return crawl_once(f"{site.url}/")


@pytest.fixture
def run(crawled, db):
    return Run.objects.select_related("crawl").get(pk=crawled.pk)


@pytest.fixture
def viewer(db):
    return browser("viewer")


def warning(viewer, run):
    page = soup(viewer.get(f"/crawls/{run.crawl_id}/?overview"))
    return page.select_one(".crawl-head .warning")


def test_the_overview_says_how_many_pages_need_a_browser_and_leads_to_them_and_the_choice(
    run, viewer
):
    told = warning(viewer, run)
    assert "1 page needs a browser" in told.get_text()
    listed, choice = (link["href"] for link in told.select("a"))
    names = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/{listed.partition('/pages/')[2]}"))
    assert [name["title"][-4:] for name in names.select("td.page .name")] == ["/app"]

    address, _, fragment = choice.partition("#")
    section = soup(viewer.get(address)).select_one(f"#{fragment}").find_parent("details")
    assert section.has_attr("open")


def test_a_run_of_which_few_pages_need_a_browser_has_no_warning(run, viewer, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.pages.rendering_filter.LACKING_SHARE", 0.11)
    assert warning(viewer, run) is None


def test_a_run_whose_order_renders_pages_has_no_warning(run, viewer):
    run.crawl.rendering = {"render": "when_needed"}
    run.crawl.save()
    assert warning(viewer, run) is None


def test_the_page_of_a_url_and_its_explanation_say_that_it_needs_a_browser(run, viewer):
    page = Page.objects.select_related("url").get(run=run, needs_browser=True)
    facts = soup(viewer.get(f"/crawls/{run.crawl_id}/pages/{page.pk}/")).select_one(".reasons")
    assert "It needs a browser" in facts.get_text()
    assert any("unfolded=rendering" in link["href"] for link in facts.select("a"))
    asked = {"crawl": run.crawl_id, "u": page.url.url}
    told = soup(viewer.get(reverse("crawling:url"), asked)).get_text()
    assert "needs a browser: scripts make its content" in told
