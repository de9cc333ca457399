"""The rendered sites are served as they were built, and plain HTML has of them what it should."""

from __future__ import annotations

import re
from urllib.request import urlopen

import pytest

from tests.webs.rendered.expected import FOLDER, SITES
from tests.webs.rendered.hostile import HOSTILE, hostile_web
from tests.webs.rendered.serving import rendered_web

each_site = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@pytest.fixture(scope="module")
def web():
    with rendered_web() as sites:
        yield sites


def plain_html(web, site, page) -> str:
    with urlopen(web[site.name].url + page.path.partition("#")[0]) as answer:
        assert answer.status == 200
        return answer.read().decode()


@each_site
def test_a_site_has_8_to_20_pages_with_an_address_and_a_sentence_each(site):
    assert 8 <= len(site.pages) <= 20
    assert len({page.path for page in site.pages}) == len(site.pages)
    assert len({page.text for page in site.pages}) == len(site.pages)


@each_site
def test_every_link_leads_to_a_page_and_every_page_is_linked_or_pushed(site):
    pages = {page.path for page in site.pages}
    pushed = {state.path for page in site.pages for state in page.states}

    assert site.links <= pages
    assert site.links | pushed | {site.pages[0].path} == pages


def test_half_of_the_sites_load_their_data_by_requests():
    assert sum(site.fetches for site in SITES.values()) * 2 >= len(SITES)


@each_site
def test_plain_html_shows_a_page_if_and_only_if_it_needs_no_browser(web, site):
    for page in site.pages:
        html = plain_html(web, site, page)
        hrefs = set(re.findall(r'href="([^"]*)"', html))

        if page.needs_browser:
            assert page.text not in html
            # what a layout has on all pages may be prerendered
            assert not (page.links - {"/", "/live/"}) & hrefs
        else:
            assert page.text in html
            assert hrefs >= page.links


@each_site
def test_no_sentence_of_a_page_that_needs_a_browser_stands_in_a_file_of_data(site):
    data = "".join(path.read_text() for path in (FOLDER / "built" / site.name).rglob("data/*.json"))

    assert bool(data) == (site.fetches and site.name != "htmx")
    assert not [page.path for page in site.pages if page.needs_browser and page.text in data]


def test_a_path_that_no_page_has_is_missing(web):
    with pytest.raises(OSError, match="404"):
        urlopen(f"{web['react'].url}/birds/dodo")


def test_requests_are_counted_by_path():
    with rendered_web("half") as web:
        for number in (1, 2):
            urlopen(f"{web['half'].url}/articles/wren.html?n={number}").close()

        assert web["half"].counts == {"/articles/wren.html": 2}


def test_every_hostile_page_is_there_and_the_list_names_all():
    files = {path.stem for path in (FOLDER / "hostile").glob("*.html")}

    assert files == {*HOSTILE, "after"}
    with hostile_web() as web:
        for name in files:
            with urlopen(web.url(name)) as answer:
                assert b"<script" in answer.read()
        assert web.canary.log == []
