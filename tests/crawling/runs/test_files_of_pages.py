"""The limit of pages is on pages: files that pages load have a limit of their own."""

from __future__ import annotations

import pytest
from django.db.models import F

from crawling.frontier import counts_of, run_limits
from crawling.frontier.change.manual_order import requeue_failed
from crawling.models import Page, RunTotal, Shift
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.pages import browser, soup

IMAGE = (200, {"Content-Type": "image/png"}, b"\x89PNG\r\n\x1a\n")
SHEET = (200, {"Content-Type": "text/css"}, b"p {}")


def shop(pages: int, images: int) -> dict[str, object]:
    """A page with links to others, each with images and a sheet of its own."""
    site: dict[str, object] = {"/": links(*(f"/p{n}" for n in range(pages)))}
    for n in range(pages):
        shown = "".join(f"<img src='/i{n}-{m}.png'>" for m in range(images))
        site[f"/p{n}"] = f"<link rel=stylesheet href=/s{n}.css>{shown}page {n}"
        site[f"/s{n}.css"] = SHEET
        site |= {f"/i{n}-{m}.png": IMAGE for m in range(images)}
    return site


@pytest.mark.parametrize("batch_size", [1, 50])
def test_images_and_styles_take_no_page_from_the_limit(make_site, crawl_to_the_end, batch_size):
    site = make_site(shop(pages=4, images=3))

    run = crawl_to_the_end(f"{site.url}/", max_pages=5, requisites=True, batch_size=batch_size)

    counts = counts_of([run.pk])[run.pk]
    assert [path for path in site.paths if path.startswith("/p")] == ["/p0", "/p1", "/p2", "/p3"]
    assert (counts.pages, counts.fetched - counts.pages) == (5, counts.files)
    assert browser("viewer").get(f"/api/v1/crawls/{run.crawl_id}").json()["files"] == counts.files


@pytest.mark.parametrize("batch_size", [1, 50])
def test_the_limit_of_pages_is_exact(make_site, crawl_to_the_end, batch_size):
    site = make_site(shop(pages=9, images=2))

    run = crawl_to_the_end(f"{site.url}/", max_pages=4, requisites=True, batch_size=batch_size)

    assert len([path for path in site.paths if path == "/" or path.startswith("/p")]) == 4
    assert run.reason == "The limit of 4 pages is reached; more URLs are queued."


def test_files_have_a_limit_of_their_own(make_site, crawl_to_the_end, monkeypatch):
    monkeypatch.setattr(run_limits, "FILES_A_PAGE", 2)
    site = make_site(shop(pages=1, images=40))

    run = crawl_to_the_end(f"{site.url}/", max_pages=3, requisites=True, batch_size=1)

    assert counts_of([run.pk])[run.pk].files == 6
    assert run.reason == (
        "The limit of 6 files that pages load (2 for each of 3 pages) is reached; more URLs are "
        "queued."
    )


def test_a_crawl_that_follows_links_to_images_counts_them_as_pages(make_site, crawl_to_the_end):
    site = make_site(
        {"/": links("/1.png", "/2.png", "/3.png")} | {f"/{n}.png": IMAGE for n in "123"}
    )

    run = crawl_to_the_end(f"{site.url}/", max_pages=2)

    assert len(site.paths) == 2
    assert run.reason == "The limit of 2 pages is reached; more URLs are queued."


def test_what_is_fetched_again_is_counted_again(make_site, crawl_to_the_end):
    site = make_site(shop(pages=1, images=1))
    site.pages["/i0-0.png"] = (404, *IMAGE[1:])
    run = crawl_to_the_end(f"{site.url}/", requisites=True)
    before = counts_of([run.pk])[run.pk]
    stored = Page.objects.get(run=run, url__url__endswith=".png")
    assert stored.content_type == "image/png"

    assert requeue_failed(run.pk) == 1

    after = counts_of([run.pk])[run.pk]
    assert (before.files - after.files, before.pages - after.pages) == (1, 0)


def test_what_was_fetched_before_files_were_counted_leaves_no_negative_count(
    make_site, crawl_to_the_end
):
    site = make_site(shop(pages=1, images=1))
    site.pages["/i0-0.png"] = (404, *IMAGE[1:])
    run = crawl_to_the_end(f"{site.url}/", requisites=True)
    RunTotal.objects.update(files=0)

    assert requeue_failed(run.pk) == 1

    assert counts_of([run.pk])[run.pk].files == 0


@pytest.fixture
def with_files(make_site, crawl_to_the_end):
    """A run with five pages and their files, and a limit of six pages; a URL waits."""
    site = make_site(shop(pages=4, images=3))
    run = crawl_to_the_end(f"{site.url}/", max_pages=6, requisites=True)
    RunTotal.objects.update(discovered=F("discovered") + 1)
    assert (counts_of([run.pk])[run.pk].pages, counts_of([run.pk])[run.pk].files) == (5, 16)
    return run


def test_the_limit_stands_beside_the_pages_alone(with_files):
    viewer = browser("viewer")

    tile = soup(viewer.get(f"/crawls/{with_files.crawl_id}/")).select_one(".numbers div")
    row = soup(viewer.get("/crawls/")).select_one("td.fetched")

    assert tile.a.get_text() == "21"
    assert " ".join(tile.select("dd")[1].get_text().split()) == "5 of at most 6 pages"
    assert " ".join(row.get_text().split()) == "5 of 6"
    assert [bar["value"] for bar in (tile.progress, row.progress)] == ["5", "5"]


def test_the_overview_tells_of_the_limit_by_pages_alone(with_files):
    with_files.crawl.runs.update(state="running", finished_at=None)
    Shift.objects.update(ended_at=None)

    told = soup(browser("viewer").get("/")).select_one("span.progress")

    assert told.find(string=True).strip() == "5 of 6"


@pytest.mark.parametrize("limit", ["host_max_pages", "domain_max_pages", "host_soft_pages"])
def test_the_limits_of_hosts_say_that_they_count_files(db, pool, limit):
    told = soup(browser("operator").get("/crawls/new/")).find(id=f"id_{limit}")
    field = told.find_parent(class_="field")

    assert "Files that pages load count, too." in field.get_text()
