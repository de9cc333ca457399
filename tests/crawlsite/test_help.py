"""The guide and the glossary inside the product, and terms that explain themselves."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import reverse
from django.utils.text import slugify

from crawlsite.help import DOCUMENTS, glossary_terms
from tests.crawling.conftest import pool  # noqa: F401  # a fixture
from tests.crawling.pages import browser, soup


@pytest.fixture
def viewer(db):
    return browser("viewer")


def test_every_document_is_served_and_no_link_of_it_leads_nowhere(viewer):
    address_of = {name: reverse("help-document", args=[name]) for name in DOCUMENTS}
    pages = {address: soup(viewer.get(address)) for address in address_of.values()}

    lost = [
        (address, link["href"])
        for address, page in pages.items()
        for link in page.select(".prose a")
        if not leads_somewhere(urlsplit(urljoin(address, link["href"])), pages)
    ]

    assert lost == []
    assert all(len(page.select_one(".prose").get_text()) > 1000 for page in pages.values())
    assert not any(page.select(".prose img, .prose [style]") for page in pages.values())
    assert soup(viewer.get(reverse("help"))).h1.get_text() == "The operator's guide"
    assert viewer.get(reverse("help-document", args=["secrets"])).status_code == 404


def leads_somewhere(target, pages) -> bool:
    if target.scheme:
        return True
    page = pages.get(target.path)
    return page is not None and (not target.fragment or page.find(id=target.fragment) is not None)


def test_the_glossary_explains_each_term_at_an_address_of_its_own(viewer):
    page = soup(viewer.get(reverse("help-document", args=["glossary"])))

    assert glossary_terms()["safe sequence"].startswith(
        "an order in which every process can finish"
    )
    assert len(glossary_terms()) > 100
    assert all(page.find(id=slugify(term)) for term in glossary_terms())


def test_a_term_explains_itself_on_hover_and_leads_to_the_glossary(viewer, pool):  # noqa: F811
    page = soup(viewer.get(reverse("allocation:pool", args=[pool.pk])))

    term = next(one for one in page.select("a.term") if one.get_text() == "Need")
    assert term["title"] == glossary_terms()["Need"]
    assert term["href"] == f"{reverse('help-document', args=['glossary'])}#need"


def test_every_page_leads_to_help(viewer):
    assert soup(viewer.get(reverse("home"))).select_one(f"header a[href='{reverse('help')}']")
