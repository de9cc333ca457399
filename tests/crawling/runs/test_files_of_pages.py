"""The limit of pages is on pages: files that pages load have a limit of their own."""

from __future__ import annotations

import pytest

from crawling.frontier import counts_of, run_limits
from crawling.frontier.change.manual_order import requeue_failed
from crawling.models import Page
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.pages import browser

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
    assert run.reason == "The limit of 6 files of pages is reached; more URLs are queued."


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
