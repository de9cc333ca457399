"""Crawls of sites that were built with frameworks, whose links and texts are known before."""

import pytest

from crawling.datasets.seen_text import seen_text
from crawling.models import Page
from crawling.orders.rendering import Rendering
from tests.webs.rendered.expected import SITES
from tests.webs.rendered.serving import rendered_web

pytestmark = [pytest.mark.usefixtures("needs_browser", "browsers"), pytest.mark.drill]


def crawled(crawl, name, **fields):
    """The pages of a site that a crawl found, by path, and the paths whose text it read."""
    with rendered_web(name) as web:
        site = web[name]
        run = crawl(f"{site.url}/", **fields)
        pages = Page.objects.filter(run=run, status=200).select_related("url", "archive_file")
        found = {page.url.url.removeprefix(site.url): page for page in pages}
        texts = {path for path, page in found.items() if "html" in page.content_type}
        return site.expected, found, {path: seen_text(found[path]).text for path in texts}


@pytest.mark.parametrize("name", SITES)
def test_a_crawl_that_renders_finds_all_pages_and_their_texts(name, crawl_to_the_end):
    expected, found, texts = crawled(crawl_to_the_end, name, render="always")

    assert expected.links <= found.keys()
    for page in expected.pages:
        if page.path in found:
            # scrolls and clicks may have gone on to the last state
            texts_of_page = [page.text, *(state.text for state in page.states)]
            assert any(text in texts[page.path] for text in texts_of_page), page.path


@pytest.mark.parametrize("name", SITES)
def test_rendering_when_needed_finds_the_same(name, crawl_to_the_end):
    expected, found, texts = crawled(crawl_to_the_end, name, render="when_needed")

    assert expected.links <= found.keys()
    for page in expected.pages:
        if page.path in found:
            texts_of_page = [page.text, *(state.text for state in page.states)]
            assert any(text in texts[page.path] for text in texts_of_page), page.path
    rendered = [path for path, page in found.items() if 0 < (page.rendering or 0) < Rendering.NEVER]
    assert len(rendered) <= sum(page.needs_browser for page in expected.pages) + 1
